"""What the records mean: who asked, what for, whether it is a retry, what the provider counted.

Runs in the writer's thread, one record after the other, and keeps what a response needs to know of its request. A body
that cannot be read is no error here: the identity then rests on the headers, and usage is unknown.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from corpus.exchange import Headers, RequestRecord, ResponseRecord
from proxy.identity import identify
from proxy.retries import Retries, content_key, ended_badly, is_comparable
from wire.answer import read_answer
from wire.api import Api
from wire.encoding import decode_body
from wire.errors import WireError
from wire.facts import peek_request
from wire.shapes import Answer

# Exchanges whose response may still come; far more than one process can hold open.
OPEN_EXCHANGES: Final = 65536

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    session_id: str | None
    api: Api


class Annotator:
    def __init__(self) -> None:
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self._retries = Retries()

    def annotate_request(self, record: RequestRecord) -> RequestRecord:
        body = _decoded(record.body, record.headers) if record.api != "other" else b""
        identity = identify(record, body, peek_request(record.api, body))
        retry_of = None
        if is_comparable(record):
            key = content_key(record.api, identity.session_id, body or record.body)
            retry_of = self._retries.heard_request(record.exchange_id, key)
        self._asked[record.exchange_id] = _Asked(identity.session_id, record.api)
        while len(self._asked) > OPEN_EXCHANGES:
            self._asked.popitem(last=False)
        return replace(record, identity=identity, retry_of=retry_of)

    def annotate_response(self, record: ResponseRecord) -> tuple[str | None, ResponseRecord]:
        """Also the session of its request, which decides where it is stored."""
        asked = self._asked.pop(record.exchange_id, _Asked(None, "other"))
        answer = _answer(asked.api, record)
        is_broken = answer.error is not None and record.end == "complete" and _is_success(record)
        response = replace(
            record,
            usage=answer.usage,
            end="sse_error" if is_broken else record.end,
            error=record.error or ("the stream carried an error event" if is_broken else None),
        )
        cut_short = _is_success(record) and bool(answer.parts) and not answer.complete
        self._retries.heard_response(record.exchange_id, failed=ended_badly(response) or cut_short)
        return asked.session_id, response


def _header(headers: Headers, name: str) -> str | None:
    return next((value for key, value in headers if key.lower() == name), None)


def _is_success(record: ResponseRecord) -> bool:
    return record.status is not None and 200 <= record.status < 300


def _decoded(body: bytes, headers: Headers) -> bytes:
    try:
        return decode_body(body, _header(headers, "content-encoding"))
    except WireError:
        _log.warning("a body could not be decoded; its bytes are kept")
        return b""


def _answer(api: Api, record: ResponseRecord) -> Answer:
    if api == "other" or not record.body:
        return Answer()
    return read_answer(api, _decoded(record.body, record.headers), _header(record.headers, "content-type"))

"""What the records mean: who asked, what for, whether it is a retry, what it goes on from, what the provider counted.

Runs in the writer's thread, one record after the other, and keeps what a response needs to know of its request. A body
that cannot be read is no error here: the identity then rests on the headers, and usage is unknown.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from corpus.exchange import Headers, Identity, RequestRecord, ResponseRecord
from proxy.chains import Chain, Chains
from proxy.heard import gather, is_read
from proxy.identity import identify_heard
from proxy.installations import Installations
from proxy.lineage import Lineage
from proxy.reading import Reader
from proxy.retries import Key, Retries, digest_body, ended_badly, is_comparable
from proxy.thinning import without_pieces
from wire.answer import read_answer, read_messages
from wire.api import Api
from wire.encoding import decode_body
from wire.errors import WireError
from wire.facts import RequestFacts
from wire.shapes import Answer
from wire.sse import split_sse
from wire.turns import output_items, response_id

# Exchanges whose response may still come; far more than one process can hold open.
OPEN_EXCHANGES: Final = 65536

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    session_id: str | None
    api: Api
    is_turn: bool = False  # on a WebSocket
    chain: Chain | None = None


class Annotator:
    def __init__(self) -> None:
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self._retries = Retries()
        self._chains = Chains()
        self._reader = Reader(self._chains)
        self._installations = Installations()
        self._lineage = Lineage()

    def is_open(self, exchange_id: str) -> bool:
        """Whether its request was annotated and its response not."""
        return exchange_id in self._asked

    def annotate_request(self, record: RequestRecord) -> RequestRecord:
        body = _decoded(record.body, record.headers) if is_read(record) else b""
        read = self._reader.read(record, body)
        identity = self._identity(record, body, read.facts)
        retry_of = None
        if is_comparable(record):
            chained = read.chain.digest if read.chain else None
            content = chained or read.content or digest_body(body or record.body)
            retry_of = self._retries.heard_request(record.exchange_id, (identity.session_id, content))
        is_turn = record.api == "openai-responses-ws" and bool(record.body)
        self._asked[record.exchange_id] = _Asked(identity.session_id, record.api, is_turn, read.chain)
        while len(self._asked) > OPEN_EXCHANGES:
            self._asked.popitem(last=False)
        return replace(record, identity=identity, retry_of=retry_of, previous=read.previous)

    def annotate_response(self, record: ResponseRecord) -> tuple[str | None, ResponseRecord]:
        """Also the session of its request, which decides where it is stored."""
        asked = self._asked.pop(record.exchange_id, _Asked(None, "other"))
        answer = _answer(asked, record)
        response = replace(_ended(record, answer, is_turn=asked.is_turn), usage=answer.usage)
        cut_short = _is_success(record) and bool(answer.parts) and not answer.complete
        failed = ended_badly(response) or cut_short
        also = self._follow(asked, record, failed=failed) if asked.chain else ()
        self._retries.heard_response(record.exchange_id, failed=failed, also=also)
        return asked.session_id, response

    def _identity(self, record: RequestRecord, body: bytes, facts: RequestFacts) -> Identity:
        heard = gather(record, body, facts)
        identity = self._lineage.attach(heard, identify_heard(heard))
        return self._installations.attach(heard, identity, record.t_request_us)

    def _follow(self, asked: _Asked, record: ResponseRecord, *, failed: bool) -> Sequence[Key]:
        """Remembers what a later turn may go on from; of a failure, the other prompt that may repeat it."""
        assert asked.chain is not None
        if not failed and not asked.is_turn:
            return ()
        try:
            messages = record.messages if asked.is_turn else _events(record)
            chain = asked.chain.then(output_items(messages))
            name = response_id(messages)
        except WireError:
            return ()
        if asked.is_turn and name is not None:
            self._chains.answered(name, record.exchange_id, chain)
        return ((asked.session_id, chain.digest),) if failed else ()


def _ended(record: ResponseRecord, answer: Answer, *, is_turn: bool) -> ResponseRecord:
    """How it ended by what was said: an error event in a whole stream, or a whole answer that nobody stayed after."""
    if answer.error is not None and record.end == "complete" and (is_turn or _is_success(record)):
        return replace(record, end="sse_error", error=record.error or "the stream carried an error event")
    if answer.complete and record.end == "client_abort" and _is_success(record):
        return replace(record, end="complete", error=None)  # Codex leaves on the last event, before the stream's end
    return record


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


def _events(record: ResponseRecord) -> list[bytes]:
    return [event.data for event in split_sse(_decoded(record.body, record.headers))]


def _answer(asked: _Asked, record: ResponseRecord) -> Answer:
    if asked.api == "other" or not record.body:
        return Answer()
    if asked.is_turn:
        return read_messages(record.messages)
    stream = without_pieces(_decoded(record.body, record.headers))
    return read_answer(asked.api, stream, _header(record.headers, "content-type"))

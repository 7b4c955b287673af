"""Sessions of real clients, recorded by others, as this room gets them: annotated by the recorder, then anonymized.

WebSocket turns are told as the HTTP requests that they stand for: what the earlier turn held and answered comes first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from corpus.exchange import End, Exchange, Identity, RequestRecord, ResponseRecord
from corpus.session import Session
from proxy.annotator import Annotator
from proxy.redaction import stored_headers, stored_path
from tests.anonymize.exchanges import anonymize
from wire.api import api_of

CAPTURES = Path(__file__).resolve().parents[2].parent / "shared" / "captures"
_ENDS: dict[str, End] = {"complete": "complete", "sse_error": "sse_error", "server_dropped": "upstream_reset"}

Json = dict[str, Any]

needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the recorded sessions are not on this machine")


def scenarios(client: str) -> list[str]:
    return sorted(path.stem for path in (CAPTURES / client).glob("*.jsonl"))


@cache
def sessions(client: str, scenario: str, *, ids: bool = True, keep_aux: bool = True) -> tuple[Session, ...]:
    """All sessions of a scenario, unlinked, by first request. Without `ids` main asked for everything.

    `keep_aux`: with asides and failed attempts as requests.
    """
    exchanges = list(_annotated(_claude(scenario) if client == "claude-code" else _codex(scenario)))
    if not ids:
        exchanges = [_nameless(one) for one in exchanges]
    known = dict.fromkeys(one.request.identity.session_id for one in exchanges)
    made = [
        anonymize([one for one in exchanges if one.request.identity.session_id == each], keep_aux=keep_aux)
        for each in known
    ]
    return tuple(one.session for one in made if one.session is not None)


def _nameless(one: Exchange) -> Exchange:
    session_id, purpose = one.request.identity.session_id, one.request.identity.purpose
    return replace(one, request=replace(one.request, identity=Identity(session_id=session_id, purpose=purpose)))


def _annotated(exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
    """In the order in which a recorder would hear requests and ends."""
    moments = [(one.request.t_request_us, 1, n) for n, one in enumerate(exchanges)]
    moments += [(one.response.t_end_us, 0, n) for n, one in enumerate(exchanges) if one.response]
    annotator, requests, responses = Annotator(), {}, {}
    waiting: set[int] = set()
    for _, is_request, n in sorted(moments, key=lambda moment: (moment[0], moment[1])):
        one = exchanges[n]
        if is_request:
            requests[n] = annotator.annotate_request(one.request)
        if one.response and (not is_request or n in waiting):
            if n in requests:
                responses[n] = annotator.annotate_response(one.response)[1]
            else:
                waiting.add(n)  # it ended at the moment it began
    for n in range(len(exchanges)):
        yield Exchange(requests[n], responses.get(n))


@cache
def _blobs() -> Json:
    blobs: Json = json.loads((CAPTURES / "claude-code" / "blobs.json").read_text())
    return blobs


def _lines(client: str, scenario: str) -> list[Json]:
    return [json.loads(line) for line in (CAPTURES / client / f"{scenario}.jsonl").read_text().splitlines()]


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return _blobs()[value["$blob"]] if "$blob" in value else {key: _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _claude(scenario: str) -> list[Exchange]:
    made = []
    for line in _lines("claude-code", scenario):
        answer, events = line["resp"], [event for _, event in line["resp"].get("events") or []]
        body = _whole(line["body"])
        made.append(
            _exchange(
                line,
                f"x{line['seq']:06d}",
                line["t_start"],
                answer["t_end"],
                b"" if body is None else _json(body),
                events or answer.get("body"),
                status=answer.get("status"),
                end=_ENDS.get(str(answer.get("end")), "client_abort"),
            )
        )
    return made


def _codex(scenario: str) -> list[Exchange]:
    lines = _lines("codex", scenario)
    answers = {line["req"]: line for line in lines if line["kind"] in ("response", "ws_out")}
    handshakes = {line["n"]: line for line in lines if line["kind"] == "request"}
    finished: dict[str, list[Any]] = {}  # by response id: the whole input and the output
    made = []
    for line in lines:
        if line["kind"] not in ("request", "ws_in") or not isinstance(line["body"], dict):
            continue
        answer = answers.get(line["n"])
        events = (answer or {}).get("events") or []
        body, head = line["body"], line
        if line["kind"] == "ws_in":
            if body.get("type") != "response.create":
                continue
            body = _whole_turn(body, events, finished)
            head = {**handshakes[line["ws"]], "method": "POST"}
        made.append(
            _exchange(
                head,
                f"x{line['n']:06d}",
                line["t"],
                (answer or line)["t"],
                _json(body),
                events or (answer or {}).get("body"),
                status=None if answer is None else answer.get("status", 200),
                end="client_abort" if answer is None or "client_gone" in answer else "complete",
            )
        )
    return made


def _whole_turn(body: Json, events: Sequence[Json], finished: dict[str, list[Any]]) -> Json:
    whole = [*finished.get(body.get("previous_response_id") or "", []), *body["input"]]
    output = [event["item"] for event in events if event.get("type") == "response.output_item.done"]
    finished.update({event["response"]["id"]: [*whole, *output] for event in events if "response" in event})
    return {
        **{key: value for key, value in body.items() if key not in ("type", "previous_response_id")},
        "input": whole,
    }


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """The recorded bodies are decoded already."""
    return [(name.encode(), value.encode()) for name, value in headers if name.lower() != "content-encoding"]


def _exchange(
    head: Json, name: str, t_s: float, t_end_s: float, body: bytes, answer: Any, *, status: int | None, end: End
) -> Exchange:
    method, path, start_us = head["method"], head["path"], round(t_s * 1e6)
    is_stream = isinstance(answer, list)
    sent = (
        b"".join(b"event: " + one["type"].encode() + b"\ndata: " + _json(one) + b"\n\n" for one in answer)
        if is_stream
        else _json(answer)
    )
    kind = (("content-type", "text/event-stream" if is_stream else "application/json"),)
    request = RequestRecord(
        exchange_id=name,
        t_request_us=start_us,
        t_body_us=start_us,
        method=method,
        path=stored_path(path),
        api=api_of(method, path),
        upstream="",
        headers=stored_headers(_plain(head["headers"])),
        identity=Identity(),
        retry_of=None,
        body_bytes=len(body),
        body=body,
    )
    end_us = max(start_us, round(t_end_s * 1e6))
    response = ResponseRecord(
        exchange_id=name,
        end=end,
        status=status,
        headers=kind,
        t_headers_us=None,
        t_first_byte_us=None,
        t_end_us=end_us,
        chunk_sizes=(len(sent),),
        chunk_times_us=(end_us - start_us,),
        usage=None,
        error=None,
        body_bytes=len(sent),
        body=sent,
    )
    return Exchange(request, response if status is not None or end != "client_abort" else None)

"""The WebSocket turns of a recorded Codex scenario as exchanges, linked as the recorder links them."""

from __future__ import annotations

import json
from dataclasses import replace

from corpus.exchange import Exchange
from tests.anonymize.exchanges import CAPTURES, Json, exchange, needs_captures
from tests.anonymize.exchanges import codex_identity as identity_of
from wire.turns import response_id


def codex_turns(scenario: str) -> list[Exchange]:
    """In the order of the file; nothing for a scenario over HTTP."""
    needs_captures()
    lines = (CAPTURES / "codex" / f"{scenario}.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    answers = {record["req"]: record for record in records if record["kind"] == "ws_out"}
    known: dict[str | None, str] = {}  # response id -> exchange id
    return [
        _turn(record, answers.get(record["n"]), known)
        for record in records
        if record["kind"] == "ws_in" and (record["body"] or {}).get("type") == "response.create"
    ]


def _turn(record: Json, answer: Json | None, known: dict[str | None, str]) -> Exchange:
    body: Json = record["body"]
    messages = [json.dumps(event, ensure_ascii=False).encode() for event in (answer or {}).get("events") or []]
    one = exchange(
        record["t"],
        body,
        b"".join(message + b"\n" for message in messages),
        path="/v1/responses",
        method="GET",
        identity=identity_of(body),
        end_s=answer["t"] if answer else record["t"],
        exchange_id=f"x{record['n']:06d}",
    )
    known[response_id(messages)] = one.request.exchange_id
    previous = known.get(body.get("previous_response_id")) if "previous_response_id" in body else None
    request = replace(one.request, api="openai-responses-ws", previous=previous)
    assert one.response is not None
    return Exchange(request, replace(one.response, chunk_sizes=tuple(len(message) + 1 for message in messages)))

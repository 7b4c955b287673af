"""The same conversation over the other transport: recorded POSTs told as turns on WebSockets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from corpus.exchange import Exchange
from tests.anonymize.exchanges import Json
from wire.sse import split_sse
from wire.turns import output_items, response_id


def over_websocket(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Each thread as one connection: a turn says what is new where it can, and everything where it must."""
    told: list[Exchange] = []
    latest: dict[str | None, Exchange] = {}  # by agent: the turn that the next one may go on from
    for exchange in exchanges:
        agent = exchange.request.identity.agent_id
        turn = _as_turn(exchange, latest.get(agent))
        told.append(turn)
        if turn.response and response_id(turn.response.messages):
            latest[agent] = exchange
    return told


def _as_turn(exchange: Exchange, before: Exchange | None) -> Exchange:
    request, response = exchange.request, exchange.response
    body = json.loads(request.body)
    new, previous = _what_is_new(body["input"], before)
    frame: Json = {"type": "response.create"} | body | {"input": new}
    if previous is not None:
        frame["previous_response_id"] = previous
    data = json.dumps(frame, ensure_ascii=False).encode()
    asked = replace(
        request,
        api="openai-responses-ws",
        method="GET",
        body=data,
        body_bytes=len(data),
        previous=before.request.exchange_id if before and previous else None,
    )
    if response is None:
        return Exchange(asked, None)
    messages = _events(exchange)
    answer = b"".join(message + b"\n" for message in messages)
    sizes = tuple(len(message) + 1 for message in messages)
    return Exchange(asked, replace(response, body=answer, body_bytes=len(answer), chunk_sizes=sizes))


def _what_is_new(items: list[Json], before: Exchange | None) -> tuple[list[Json], str | None]:
    """New items and the response they go on from; all items and None where history is not repeated."""
    if before is None:
        return items, None
    history = json.loads(before.request.body)["input"]
    said = output_items(_events(before))
    known = len(history) + len(said)
    echoed = [item.get("type") for item in items[len(history) : known]]
    if items[: len(history)] != history or echoed != [item.get("type") for item in said]:
        return items, None
    return items[known:], response_id(_events(before))


def _events(exchange: Exchange) -> list[bytes]:
    return [event.data for event in split_sse(exchange.response.body)] if exchange.response else []

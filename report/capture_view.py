"""Captures on the page: what was heard, a row a session, without a single body. Ids stand as the client sent them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from corpus.exchange import Exchange
from corpus.purpose import STEPS
from report.agent_tree import agent_tree
from report.timeline import Bar, Details, Drawing, Lane, Link, Tone, draw
from report.wording import count, share

_COLUMNS = [
    ["session", "text"],
    ["harness", "text"],
    ["exchanges", "number"],
    ["agents", "number"],
    ["not complete", "number"],
    ["time", "us"],
    ["sent", "bytes"],
    ["received", "bytes"],
]


def view_captures(title: str, facts: Mapping[str, str], exchanges: Sequence[Exchange]) -> dict[str, Any]:
    sessions: dict[str | None, list[Exchange]] = {}
    for exchange in sorted(exchanges, key=lambda e: (e.request.t_request_us, e.request.exchange_id)):
        sessions.setdefault(exchange.request.identity.session_id, []).append(exchange)
    largest = max(sessions, key=lambda name: (name is not None, len(sessions[name])), default=None)
    ends = Counter(exchange.end for exchange in exchanges)
    return {
        "title": title,
        "kind": "captures",
        "facts": list(facts.items()),
        "numbers": _numbers(exchanges, len(sessions)),
        "charts": [],
        "notes": [
            f"exchanges that ended with {end}: {count(number)}" for end, number in ends.items() if end != "complete"
        ],
        "columns": _COLUMNS,
        "opened": list(sessions).index(largest) if sessions else 0,
        "rows": [_row(session_id, found) for session_id, found in sessions.items()],
        **draw(
            [_drawing(session_id, found) for session_id, found in sessions.items()],
            _details([exchange for found in sessions.values() for exchange in found]),
        ),
    }


def _numbers(exchanges: Sequence[Exchange], sessions: int) -> list[list[str]]:
    usages = [e.response.usage for e in exchanges if e.response and e.response.usage]
    prompts = sum(usage.input_tokens or 0 for usage in usages)
    cached = sum(usage.cache_read_tokens or 0 for usage in usages)
    complete = sum(e.end == "complete" for e in exchanges)
    return [
        ["sessions", count(sessions), "by the client's own id"],
        ["exchanges", count(len(exchanges)), f"{count(len(exchanges) - complete)} not complete"],
        ["prompt tokens", count(prompts), f"as the provider counted them, in {count(len(usages))} answers"],
        ["read from the provider's cache", share(cached / prompts if prompts else None), "of them"],
        ["answer tokens", count(sum(usage.output_tokens or 0 for usage in usages)), "as the provider counted them"],
    ]


def _row(session_id: str | None, exchanges: Sequence[Exchange]) -> list[Any]:
    who = exchanges[0].request.identity
    return [
        session_id or "(no session id)",
        f"{who.harness or 'unknown'} {who.harness_version or ''}".strip(),
        len(exchanges),
        len({e.request.identity.agent_id for e in exchanges}),
        sum(e.end != "complete" for e in exchanges),
        max(_end_us(e) or e.request.t_request_us for e in exchanges) - exchanges[0].request.t_request_us,
        sum(e.request.body_bytes for e in exchanges),
        sum(e.response.body_bytes for e in exchanges if e.response),
    ]


def _drawing(session_id: str | None, exchanges: Sequence[Exchange]) -> Drawing:
    zero = exchanges[0].request.t_request_us
    agents: dict[str | None, int] = {None: 0}
    for exchange in exchanges:
        agents.setdefault(exchange.request.identity.agent_id, len(agents))
    parents: list[int | None] = [None] * len(agents)
    for exchange in exchanges:
        who = exchange.request.identity
        parents[agents[who.agent_id]] = agents.get(who.parent_agent_id)
    order = list(agent_tree(parents))
    lane_of = {agent: lane for lane, (_, agent) in enumerate(order)}
    names = ["main" if agent is None else agent for agent in agents]
    bars = [_bar(e, zero, lane_of[agents[e.request.identity.agent_id]]) for e in exchanges]
    lanes = [Lane(names[agent], depth) for depth, agent in order]
    return Drawing(session_id or "(no session id)", "", lanes, bars, _retries(exchanges))


def _bar(exchange: Exchange, zero: int, lane: int) -> Bar:
    response, end = exchange.response, _end_us(exchange)
    first = response.t_first_byte_us if response else None
    return Bar(
        lane,
        _tone(exchange),
        exchange.request.t_request_us - zero,
        None if first is None else first - zero,
        None if end is None else end - zero,
    )


def _tone(exchange: Exchange) -> Tone:
    status = exchange.response.status if exchange.response else None
    if exchange.end != "complete" or (status or 200) >= 400:
        return "failed"
    if exchange.request.identity.purpose not in STEPS:
        return "aside"
    return "child" if exchange.request.identity.agent_id else "main"


def _details(exchanges: Sequence[Exchange]) -> Details:
    requests = [e.request for e in exchanges]
    responses = [e.response for e in exchanges]
    usages = [response.usage if response else None for response in responses]
    return {
        "exchange": ("text", [r.exchange_id for r in requests]),
        "purpose": ("text", [r.identity.purpose for r in requests]),
        "protocol": ("text", [r.api for r in requests]),
        "model": ("text", [r.identity.model for r in requests]),
        "request body": ("bytes", [r.body_bytes for r in requests]),
        "response body": ("bytes", [r and r.body_bytes for r in responses]),
        "prompt": ("tokens", [u and u.input_tokens for u in usages]),
        "read from cache": ("tokens", [u and u.cache_read_tokens for u in usages]),
        "answer": ("tokens", [u and u.output_tokens for u in usages]),
        "status": ("number", [r and r.status for r in responses]),
        "ended": ("text", [e.end for e in exchanges]),
    }


def _retries(exchanges: Sequence[Exchange]) -> list[Link]:
    bars = {exchange.request.exchange_id: bar for bar, exchange in enumerate(exchanges)}
    return [
        Link(bars[e.request.retry_of], bar, "retry", "end", None)
        for bar, e in enumerate(exchanges)
        if e.request.retry_of in bars
    ]


def _end_us(exchange: Exchange) -> int | None:
    return exchange.response.t_end_us if exchange.response else None

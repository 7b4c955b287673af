"""Random sessions with chained block ids, linked, and the lists that foreign files hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from hypothesis import strategies as st

from corpus.blocks import encode_blocks
from corpus.exchange import Purpose
from corpus.graph import end_us
from corpus.session import Agent, Edge, EdgeKind, Request, Session
from tests.plain import plain_request

Json = dict[str, Any]


def make_session(requests: list[Json], prompts: list[list[int]], number: int = 0, block_size: int = 64) -> Session:
    """Requests from their fields; `prompts` are their block lists."""
    blocks = encode_blocks(prompts)
    agents = 1 + max((request.get("agent", 0) for request in requests), default=0)
    return Session(
        session=number,
        source_format="capture",
        source_dialect=None,
        harness="claude-code",
        harness_version=(2, 1),
        block_size=block_size,
        models=("claude-opus-4-5",),
        agents=tuple(Agent(a, None if a == 0 else 0, "main" if a == 0 else "subagent") for a in range(agents)),
        requests=tuple(plain_request(n, blocks=blocks[n], **request) for n, request in enumerate(requests)),
    )


def linked(session: Session) -> Session:
    """Steps of an agent one after the other, asides off the step before, children off and back to the main agent."""
    edges: list[Edge] = []
    last: dict[int, Request] = {}
    for request in session.requests:
        before = last.get(request.agent)
        if request.purpose != "turn":
            edges += [_edge(before, request, "aux")] if before else []
            continue
        if before is not None:
            edges.append(_edge(before, request, "sequence"))
        elif request.agent and 0 in last:
            edges.append(_edge(last[0], request, "spawn"))
        last[request.agent] = request
    for agent, request in last.items():
        later = (r for r in session.requests[request.request :] if r.agent == 0 and r.t_start_us >= end_us(request))
        back = next(later, None) if agent else None
        edges += [_edge(request, back, "join")] if back and back.purpose == "turn" else []
    return replace(session, edges=tuple(sorted(edges, key=lambda edge: (edge.dst, edge.src, edge.kind))))


def _edge(src: Request, dst: Request, kind: EdgeKind) -> Edge:
    gap = dst.t_start_us - end_us(src)
    if gap < 0:
        return Edge(src.request, dst.request, kind, dst.t_start_us - src.t_start_us, "start", "id")
    return Edge(src.request, dst.request, kind, gap, "end", "id")


@st.composite
def sessions(draw: st.DrawFn, number: int = 0) -> Session:
    """Up to eight requests of up to three agents that grow, shrink and share prompts; linked."""
    count = draw(st.integers(1, 8))
    size = draw(st.sampled_from([16, 64]))
    ids: dict[tuple[int, ...], int] = {}
    requests: list[Json] = []
    prompts: list[list[int]] = []
    start = 0
    purposes: list[Purpose] = ["turn", "turn", "turn", "title"]
    for _ in range(count):
        words = draw(st.lists(st.integers(0, 1), max_size=24))
        prompts.append([ids.setdefault(tuple(words[: n + 1]), len(ids) + 1) for n in range(len(words))])
        start += draw(st.integers(0, 5_000)) * 1000
        took = draw(st.none() | st.integers(0, 4_000))
        requests.append(
            {
                "agent": draw(st.integers(0, 2)),
                "purpose": draw(st.sampled_from(purposes)),
                "t_start_us": start,
                "t_end_us": None if took is None else start + took * 1000,
                "input_tokens": max(1, size * len(words) + draw(st.integers(0, size - 1))),
                "output_tokens": draw(st.integers(1, 200)),
            }
        )
    order = sorted(range(count), key=lambda n: (requests[n]["t_start_us"], requests[n]["agent"]))
    return linked(make_session([requests[n] for n in order], [prompts[n] for n in order], number, size))


def dump(path: Path, *rows: Json) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return path


def load(path: Path) -> list[Json]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def shared(one: list[int], other: list[int]) -> int:
    return next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )

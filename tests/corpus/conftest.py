"""Sessions to test with: one small captured session that uses every record, and real traces where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.blocks import encode_blocks, encode_segments
from corpus.card import Card
from corpus.session import Agent, Attempt, Delivery, Edge, Request, Role, Session, ToolCall
from wire.usage import Usage

_SHARED = Path(__file__).resolve().parents[2].parent / "shared"

# Per request: agent, start ms, end ms, input tokens, blocks of 64, segments
_Line = tuple[int, int, int | None, int, list[int], list[tuple[Role, int]]]
_LINES: list[_Line] = [
    (0, 0, 2000, 330, [1, 2, 3, 4, 5], [("tools", 100), ("system", 60), ("user", 170)]),
    (0, 2500, 2600, 330, [1, 2, 3, 4, 5], [("tools", 100), ("system", 60), ("user", 170)]),  # fails, sent again
    (0, 3000, 5000, 330, [1, 2, 3, 4, 5], [("tools", 100), ("system", 60), ("user", 170)]),
    (1, 5100, 7000, 200, [6, 7, 8], [("system", 20), ("user", 180)]),
    (2, 7100, 7900, 130, [6, 9], [("system", 20), ("user", 110)]),
    (1, 8000, 9000, 260, [6, 7, 8, 10], [("system", 20), ("user", 180), ("tool_result", 60)]),
    (0, 9500, None, 400, [1, 2, 3, 4, 5, 11], [("tools", 100), ("system", 60), ("user", 170), ("tool_result", 70)]),
]
_ATTEMPTS = (
    Attempt(700_000, 300_000, "complete", 529, repeated=True),
    Attempt(200_000, None, "unknown", None, repeated=False),
)


@pytest.fixture
def captured() -> Session:
    """As `build` would make it: a failed attempt, an agent, an agent of that agent, an unknown end."""
    blocks = encode_blocks(line[4] for line in _LINES)
    segments = encode_segments([line[5] for line in _LINES], blocks)
    requests = tuple(
        Request(
            request=number,
            agent=agent,
            position=number,
            purpose="turn",
            api="anthropic-messages",
            stream=True,
            model=1 if agent else 0,
            t_start_us=start * 1000,
            t_first_us=start * 1000 + 40_000,
            t_end_us=None if end is None else end * 1000,
            end="upstream_reset" if number == 1 else "complete",
            status=None if number == 1 else 200,
            retry_of=1 if number == 2 else None,
            stop="tool_use",
            input_kinds=("text", "tool_result"),
            output_kinds=("tool_use",),
            input_tokens=tokens,
            output_tokens=None if number == 6 else 12,
            usage=Usage(tokens + 3, 64, None, 13, None) if number != 1 else None,
            blocks=blocks[number],
            segments=segments[number],
            attempts=_ATTEMPTS if number == 5 else (),
        )
        for number, (agent, start, end, tokens, _, _) in enumerate(_LINES)
    )
    return Session(
        session=0,
        source_format="capture",
        source_dialect=None,
        harness="claude-code",
        harness_version=(2, 1, 139),
        block_size=64,
        models=("claude-opus-4-5", "claude-haiku-4-5"),
        agents=(Agent(0, None, "main"), Agent(1, 0, "subagent"), Agent(2, 1, "workflow")),
        requests=requests,
        tool_calls=(
            ToolCall(0, 2, 6, "agent", None, 1, (Delivery(6, "tool_result"),)),
            ToolCall(1, 3, 5, "read", is_error=False, spawned=2, deliveries=()),
        ),
        edges=(
            Edge(1, 2, "retry", 400_000, "end", "id"),
            Edge(2, 3, "spawn", 100_000, "end", "id"),
            Edge(3, 4, "spawn", 100_000, "end", "timing"),
            Edge(5, 6, "join", 500_000, "end", "tool_result"),
        ),
    )


@pytest.fixture
def card() -> Card:
    return Card("agentreel test", "deepseek-v4", "ab" * 32, 64, rejected={"too_long": 2})


@pytest.fixture
def real_weka() -> Path:
    """29 real kv-cache-tester traces."""
    return _folder("traces/weka")


@pytest.fixture
def synthetic_weka() -> Path:
    """20 synthetic sessions with absolute inner times and ids from 0."""
    return _folder("peer-bench/weka20")


def _folder(name: str) -> Path:
    if not (_SHARED / name).is_dir():
        pytest.skip(f"no {name} beside the repository: real traces are not part of it")
    return _SHARED / name

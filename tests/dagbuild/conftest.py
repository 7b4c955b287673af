"""Small sessions for the tests: requests given as (agent, start s, end s), everything else plain.

Prompts have no blocks unless lists are given, so that nothing but agents and times speaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from corpus.blocks import encode_blocks
from corpus.exchange import AgentKind, Purpose
from corpus.session import Agent, Blocks, Session, ToolCall
from tests.plain import timed_request

Step = tuple[int, float, float | None]


@pytest.fixture(scope="session")
def make_session() -> Callable[..., Session]:
    """make(steps, calls, parents={child: parent}, kinds={agent: kind}, purposes/retries={request: ...})."""

    def make(
        steps: Sequence[Step],
        calls: Sequence[ToolCall] = (),
        *,
        parents: dict[int, int] | None = None,
        kinds: dict[int, AgentKind] | None = None,
        purposes: dict[int, Purpose] | None = None,
        retries: dict[int, int] | None = None,
        lists: Sequence[Sequence[int]] | None = None,
        weka: bool = False,
        **changed: Any,
    ) -> Session:
        blocks = encode_blocks(lists) if lists is not None else [Blocks(-1, 0, (), ())] * len(steps)
        agents = range(max(agent for agent, _, _ in steps) + 1)
        return Session(
            session=0,
            source_format="weka" if weka else "capture",
            source_dialect="kv-cache-tester" if weka else None,
            harness=None,
            harness_version=(),
            block_size=64,
            models=("m",),
            agents=tuple(
                Agent(a, (parents or {}).get(a), (kinds or {}).get(a, "subagent" if a else "main")) for a in agents
            ),
            requests=tuple(
                timed_request(
                    n,
                    *step,
                    purpose=(purposes or {}).get(n, "turn"),
                    retry_of=(retries or {}).get(n),
                    blocks=blocks[n],
                    **changed,
                )
                for n, step in enumerate(steps)
            ),
            tool_calls=tuple(calls),
        )

    return make

"""Small sessions for the tests: requests as (agent, start s, end s), prompts as block lists, all else plain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from corpus.blocks import encode_blocks
from corpus.run import SentRequest
from corpus.session import Agent, Session
from tests.plain import timed_request

Step = tuple[int, float, float | None]  # agent, start s, end s


@pytest.fixture(scope="session")
def make_session() -> Callable[..., Session]:
    """make(steps, {request: {field: value}}, prompts=block lists, **session fields): 64-token blocks."""

    def make(
        steps: Sequence[Step],
        changes: Mapping[int, dict[str, Any]] | None = None,
        *,
        prompts: Sequence[Sequence[int]] | None = None,
        **changed: Any,
    ) -> Session:
        lists = prompts or [[1]] * len(steps)
        blocks = encode_blocks(lists)
        requests = tuple(
            replace(
                timed_request(n, *step, blocks=blocks[n], input_tokens=64 * len(lists[n])), **(changes or {}).get(n, {})
            )
            for n, step in enumerate(steps)
        )
        agents = tuple(
            Agent(a, 0 if a else None, "subagent" if a else "main") for a in range(max(s[0] for s in steps) + 1)
        )
        plain: dict[str, Any] = {
            "session": 0,
            "source_format": "capture",
            "source_dialect": None,
            "harness": "claude-code",
            "harness_version": (2, 1),
            "block_size": 64,
            "models": ("m", "n"),
            "agents": agents,
            "requests": requests,
        }
        return Session(**plain | changed)

    return make


@pytest.fixture(scope="session")
def make_sent() -> Callable[..., SentRequest]:
    """make(field=value, ...): a request of a run, sent 2 ms late, answered from 1 s to 2 s."""

    def make(**changed: Any) -> SentRequest:
        plain: dict[str, Any] = {
            "lane": 0,
            "play": 0,
            "session": 0,
            "request": 0,
            "agent": 0,
            "phase": "profile",
            "model": None,
            "planned_input_tokens": 640,
            "planned_output_tokens": 11,
            "after": (),
            "after_delay_us": (),
            "after_anchor": (),
            "release_us": 0,
            "root_offset_us": 0,
            "due_us": 0,
            "sent_us": 2000,
            "first_token_us": 1_000_000,
            "last_token_us": 2_000_000,
            "end_us": 2_000_000,
            "measured_input_tokens": 640,
            "measured_output_tokens": 11,
            "cached_tokens": 320,
            "predicted_cached_tokens": 320,
            "status": 200,
            "error": None,
            "recorded_start_us": 0,
            "recorded_end_us": 3_000_000,
        }
        return SentRequest(**plain | changed)

    return make

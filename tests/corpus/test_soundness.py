from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from corpus.session import Agent, Attempt, Blocks, Segments, Session
from corpus.soundness import MAX_BLOCKS, find_flaw

Change = Callable[[Session], Session]


def request(number: int, **values: Any) -> Change:
    def change(session: Session) -> Session:
        requests = list(session.requests)
        requests[number] = replace(requests[number], **values)
        return replace(session, requests=tuple(requests))

    return change


def call(**values: Any) -> Change:
    return lambda session: replace(
        session, tool_calls=(replace(session.tool_calls[0], **values), *session.tool_calls[1:])
    )


def edge(**values: Any) -> Change:
    return lambda session: replace(session, edges=(replace(session.edges[0], **values),))


def agents(*agents: Agent) -> Change:
    return lambda session: replace(session, agents=agents)


MAIN = Agent(0, None, "main")


def test_captured_session_is_sound(captured: Session) -> None:
    assert find_flaw(captured) is None


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        (lambda s: replace(s, block_size=0), "block_size: 0"),
        (lambda s: replace(s, source_format="tape"), "source: tape"),
        (agents(MAIN, Agent(2, 0, "subagent"), Agent(1, 0, "subagent")), "agent 1: is numbered 2"),
        (agents(MAIN, Agent(1, 7, "subagent"), Agent(2, 1, "subagent")), "agent 1: parent 7"),
        (agents(MAIN, Agent(1, 2, "subagent"), Agent(2, 1, "subagent")), "agent 1: is its own ancestor"),
        (request(3, request=4), "request 3: is numbered 4"),
        (request(3, agent=3), "request 3: agent 3"),
        (request(3, model=-1), "request 3: model -1"),
        (request(3, purpose="chat"), "request 3: 'chat'"),
        (request(2, retry_of=9), "request 2: retry_of 9"),
        (request(2, retry_of=2), "request 2: retry_of 2"),
        (request(2, retry_of=3), "request 2: retry_of 3"),
        (request(3, input_tokens=-1), "request 3: negative"),
        (request(3, attempts=(Attempt(-1, None, "timeout", None, repeated=True),)), "request 3: an attempt"),
        (request(3, t_end_us=0), "request 3: ends before"),
        (request(3, t_start_us=9_400_000, t_end_us=None), "request 4: out of order"),
        (request(3, blocks=Blocks(3, 1, (), ())), "request 3: base 3"),
        (request(3, blocks=Blocks(-1, 1, (), ())), "request 3: keeps 1 blocks"),
        (request(3, blocks=Blocks(0, 6, (), ())), "request 3: keeps 6 blocks"),
        (request(3, blocks=Blocks(-1, 0, (1,), ())), "request 3: block runs"),
        (request(6, blocks=Blocks(-1, 0, (1,), (0,))), "request 6: block runs"),
        (request(6, blocks=Blocks(-1, 0, (1,), (MAX_BLOCKS + 1,))), "request 6: block ids or counts"),
        (request(6, segments=Segments(0, ("user",), ())), "request 6: segments without"),
        (request(6, segments=Segments(0, ("poet",), (1,))), "request 6: segment of an unknown"),  # type: ignore[arg-type]  # that is the point
        (request(6, segments=Segments(4, (), ())), "request 6: keeps 4 segments"),
        (request(0, segments=None), "request 1: keeps"),
        (call(emit=7), "tool call 0: refers"),
        (call(result=-1), "tool call 0: refers"),
        (call(spawned=3), "tool call 0: agent 3"),
        (edge(dst=7), "edge 0: 1 to 7"),
        (edge(dst=1), "edge 0: 1 to 1"),
        (edge(anchor="middle"), "edge 0: 'retry', 'middle'"),
    ],
)
def test_flaw_is_found_and_placed(captured: Session, change: Change, flaw: str) -> None:
    assert (find_flaw(change(captured)) or "none").startswith(flaw)

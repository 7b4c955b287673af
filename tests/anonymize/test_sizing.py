from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.calibration import Calibration, Fit, local_fit
from anonymize.features import INDEX
from corpus.blocks import expand_blocks, expand_segments
from corpus.exchange import Exchange, Identity
from corpus.session import Session
from tests.anonymize.exchanges import (
    WordTokenizer,
    assistant,
    claude_answer,
    claude_body,
    exchange,
    session_of,
    tool_result,
    tool_use,
    user,
)

BLOCK = 4


def fit(**coefficients: float) -> Fit:
    plain = local_fit()
    changed = plain.coefficients.copy()
    for name, value in coefficients.items():
        changed[INDEX[name]] = value
    return replace(plain, coefficients=changed, spread={})


def calibration(**coefficients: float) -> Calibration:
    return Calibration("words", "0" * 64, {"claude-opus-5-5": fit(**coefficients)}, {})


def counted(at: float, messages: Sequence[Any], tokens: int, *, identity: Identity | None = None) -> Exchange:
    events = claude_answer({"type": "text", "text": "hello there"})
    events[0]["message"]["usage"] = {"input_tokens": tokens, "output_tokens": 1}
    return exchange(at, claude_body(messages, system="be kind", tools=[{"name": "Bash"}]), events, identity=identity)


def conversation(texts: Sequence[str], counts: Sequence[int]) -> list[Exchange]:
    history: list[Any] = []
    made = []
    for number, (text, tokens) in enumerate(zip(texts, counts, strict=True)):
        history = [*history, user(text)]
        made.append(counted(10 * number, history, tokens))
        history = [*history, assistant(f"answer {number}")]
    return made


def shared(session: Session) -> list[int]:
    """Leading segments that each request has in common with the one before."""
    lists = expand_segments(session.requests)
    return [
        next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
        for one, two in pairwise(lists)
    ]


def reuse(session: Session) -> float:
    """Share of all blocks that an earlier request of the session had."""
    lists = [set(one.tolist()) for one in expand_blocks([request.blocks for request in session.requests])]
    seen: set[int] = set()
    reused = 0
    for blocks in lists:
        reused += len(blocks & seen)
        seen |= blocks
    return reused / sum(map(len, lists))


TEXTS = [f"turn {number} " + "word other " * 40 for number in range(12)]


def grown(factor: float, start: int = 900) -> list[int]:
    plain = session_of(conversation(TEXTS, [1] * len(TEXTS)))
    return [start + round(factor * request.input_tokens) for request in plain.requests]


def test_pinned_prompts_are_as_long_as_the_provider_counted() -> None:
    counts = grown(1.3)
    session = session_of(conversation(TEXTS, counts), block_size=BLOCK, calibration=calibration(hidden_prompt=890))
    assert [request.input_tokens for request in session.requests] == counts


def test_without_a_calibration_no_count_changes_a_size() -> None:
    one, other = (session_of(conversation(TEXTS, grown(factor)), block_size=BLOCK) for factor in (1.0, 1.9))
    assert [request.input_tokens for request in one.requests] == [request.input_tokens for request in other.requests]


def test_prefix_reuse_is_the_same_before_and_after() -> None:
    plain = session_of(conversation(TEXTS, grown(1.0)), block_size=BLOCK)
    for factor, bound in ((0.8, 0.02), (1.0, 0.01), (1.4, 0.01)):
        fitted = session_of(conversation(TEXTS, grown(factor, 0)), block_size=BLOCK, calibration=calibration())
        assert shared(fitted) == shared(plain)
        assert abs(reuse(fitted) - reuse(plain)) < bound


def test_a_fork_finds_the_tokens_that_its_parent_was_given() -> None:
    history = [user(TEXTS[0]), assistant("a"), user(TEXTS[1])]
    child = Identity(session_id="s", agent_id="x", agent_kind="fork", purpose="turn")
    made = [
        counted(1, history[:1], 333),
        counted(2, history, 777),
        counted(3, [*history, assistant("b"), user("go")], 790, identity=child),
        counted(4, [*history, assistant("b"), user("on")], 800),
    ]
    session = session_of(made, block_size=BLOCK, calibration=calibration())
    lists = expand_blocks([request.blocks for request in session.requests])
    for later in lists[2:]:
        assert np.array_equal(later[: len(lists[1])], lists[1])


def test_the_hidden_prompt_stands_in_front_once_and_is_the_same_for_all() -> None:
    session = session_of(conversation(TEXTS, grown(1.0)), block_size=BLOCK, calibration=calibration(hidden_tools=300))
    lists = expand_segments(session.requests)
    assert {one[0] for one in lists} == {("system", 300)}
    assert [role for role, _ in lists[0]] == ["system", "tools", "system", "user"]


def test_a_count_that_makes_no_sense_is_not_forced() -> None:
    plain = session_of(conversation(TEXTS, grown(1.0)), block_size=BLOCK)
    session = session_of(conversation(TEXTS, [10_000_000] * len(TEXTS)), block_size=BLOCK, calibration=calibration())
    for one, other in zip(plain.requests, session.requests, strict=True):
        assert other.input_tokens <= 2 * one.input_tokens + 2


def test_a_thought_is_as_long_as_the_answer_it_came_in() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "c" * 4_000}
    call = tool_use("t1", "Bash", command="ls")
    first = exchange(1, claude_body([user("hi")]), claude_answer(thought, call, stop="tool_use", output_tokens=500))
    history = [user("hi"), assistant(thought, call), user(tool_result("t1", "f"))]
    events = claude_answer({"type": "text", "text": "done"})
    del events[0]["message"]["usage"]  # nothing to pin the second prompt to
    session = session_of([first, exchange(3, claude_body(history), events)], calibration=calibration())
    ((_, tokens),) = [one for one in expand_segments(session.requests)[1] if one[0] == "opaque"]
    said = len(WordTokenizer().encode('{"command":"ls"}')) + 1
    assert tokens == 500 - said


@given(st.lists(st.integers(1, 3_000), min_size=len(TEXTS), max_size=len(TEXTS)), st.binary(min_size=32, max_size=32))
def test_whatever_the_counts_any_key_gives_the_same_session(counts: list[int], key: bytes) -> None:
    made = conversation(TEXTS, counts)
    one = session_of(made, block_size=BLOCK, calibration=calibration(hidden_prompt=40))
    assert one == session_of(made, block_size=BLOCK, calibration=calibration(hidden_prompt=40), key=key)
    for request, blocks in zip(one.requests, expand_blocks([r.blocks for r in one.requests]), strict=True):
        assert len(blocks) == request.input_tokens // BLOCK

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.session import Role
from replay.content import Span
from replay.framing import END, NO_FRAMING, PROBE_TOKENS, PROBES, START, Framing, Heard, learn, probes_for, steps
from replay.items import Item, Kind, Manners, items_of

ROLES: tuple[Role, ...] = get_args(Role)
KINDS: tuple[Kind, ...] = get_args(Kind)
# Tokens before and behind the content of each kind; the answer is opened as the assistant always speaks.
HEADS: dict[str, int] = {"system": 4, "user": 3, "assistant": 3, "call": 19, "result": 6}
CLOSES: dict[str, int] = {"system": 1, "user": 1, "assistant": 1, "call": 5, "result": 3}
BEGINNING = 1
SEGMENTS = st.lists(st.tuples(st.sampled_from(ROLES), st.integers(30, 90)), min_size=1, max_size=15)


def count(kinds: Sequence[Kind], content_tokens: int) -> int:
    """A template that frames each kind differently, and opens the answer."""
    around = sum(HEADS[kind] + CLOSES[kind] for kind in kinds)
    return content_tokens + BEGINNING + around + HEADS["assistant"]


def shifts(items: Sequence[Item], spans: Sequence[Span]) -> list[int]:
    """How far behind its place in the prompt each item's content stands at the server."""
    found, at = [], BEGINNING
    for item, span in zip(items, spans, strict=True):
        found.append(at + HEADS[item.kind] - span.start)
        at += HEADS[item.kind] + span.stop - span.start + CLOSES[item.kind]
    return found


@cache
def learnt() -> Framing:
    return learn([Heard(p, PROBE_TOKENS * len(p), count(p, PROBE_TOKENS * len(p))) for p in PROBES])


@given(segments=SEGMENTS)
def test_probes_tell_what_every_conversation_costs(segments: list[tuple[Role, int]]) -> None:
    tokens = sum(size for _, size in segments)
    items = items_of(tokens, tuple(segments))
    spans = learnt().spans(items)
    sent = sum(span.stop - span.start for span in spans)
    assert count([item.kind for item in items], sent) == tokens
    assert all(0 <= shift < 64 for shift in shifts(items, spans)), shifts(items, spans)


@given(segments=SEGMENTS)
def test_every_step_a_conversation_can_take_is_in_a_probe(segments: list[tuple[Role, int]]) -> None:
    items = items_of(sum(size for _, size in segments), tuple(segments))
    known = sorted({step for probe in PROBES for step in steps(probe)})
    equations = np.array([[steps(probe).count(step) for step in known] for probe in PROBES])
    taken = steps([item.kind for item in items])
    assert set(taken) <= set(known)
    row = np.array([taken.count(step) for step in known])
    assert np.linalg.matrix_rank(np.vstack([equations, row])) == np.linalg.matrix_rank(equations)


@given(segments=SEGMENTS, more=SEGMENTS)
def test_a_repeated_history_is_cut_the_same_way(segments: list[tuple[Role, int]], more: list[tuple[Role, int]]) -> None:
    whole: list[tuple[Role, int]] = [*segments, ("user", 40), ("assistant", 50), *more, ("user", 40)]
    before = learnt().spans(items_of(sum(n for _, n in segments) + 40, (*segments, ("user", 40))))
    after = learnt().spans(items_of(sum(n for _, n in whole), tuple(whole)))
    assert after[: len(before)] == before


def test_what_an_item_is_too_short_to_give_up_is_taken_from_those_around_it() -> None:
    framing = Framing({(START, "user"): 10.0, ("user", "assistant"): 4.0, ("assistant", "user"): 4.0})
    first_short = (Item("user", 0, 6), Item("assistant", 6, 12), Item("user", 12, 60))
    assert [span.stop - span.start for span in framing.spans(first_short)] == [1, 1, 40]
    last_short = (Item("user", 0, 40), Item("assistant", 40, 59), Item("user", 59, 60))
    assert [span.stop - span.start for span in framing.spans(last_short)] == [30, 11, 1]


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_a_prompt_shorter_than_its_frames_keeps_a_token_of_every_message(sizes: list[int]) -> None:
    roles: list[Role] = ["user", "assistant"] * 3
    items = items_of(sum(sizes), tuple(zip(roles, sizes, strict=False)))
    spans = learnt().spans(items)
    assert all(0 <= span.start < span.stop <= items[-1].stop for span in spans)


def test_where_a_prompt_ends_the_answer_it_opens_is_taken_off_its_end() -> None:
    """The next prompt has a block there: a template's tokens in its place would part the two before it."""
    framing = learnt()
    history: list[tuple[Role, int]] = [("system", 100), ("user", 156)]
    first = items_of(256, tuple(history))
    second = items_of(400, (*history, ("assistant", 80), ("user", 64)))
    assert framing.spans(second)[:2] == framing.spans(first)
    assert framing.spans(first)[0].start == 0
    assert framing.costs["user", END] >= CLOSES["user"] + HEADS["assistant"]


def test_without_costs_nothing_is_taken_off() -> None:
    items = items_of(60, (("system", 20), ("tool_call", 20), ("tool_result", 20)))
    assert [(span.start, span.stop, span.flat) for span in NO_FRAMING.spans(items)] == [
        (0, 20, False),
        (20, 40, True),
        (40, 60, False),
    ]


def test_a_template_that_is_irregular_is_told() -> None:
    heard = [Heard(("user",), 3, 10), Heard(("user",), 3, 13)]
    assert learn(heard).off_by == pytest.approx(1.5)
    assert learnt().off_by == 0


def test_a_run_without_known_segments_needs_one_probe() -> None:
    assert probes_for(frozenset()) == [("user",)]
    assert probes_for(frozenset({"system"})) == [("user",), ("system", "user")]
    assert len(probes_for(frozenset(KINDS))) == len(PROBES)
    assert learn([]).costs == {}


def test_costs_are_told_in_words() -> None:
    told = learn([Heard(("user",), 3, 10)], Manners(frozenset({"call", "result"}))).describe()
    assert told == {
        "costs": {"start user": 0.0, "user end": 7.0},
        "sent_as_text": ["call", "result"],
        "opens_with_user": False,
        "off_by_tokens": 0.0,
    }

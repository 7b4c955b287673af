from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.session import Role
from replay.framing import NO_FRAMING, PROBE_TOKENS, PROBES, START, Framing, Heard, learn, probes_for, steps
from replay.items import Item, Kind, items_of

ROLES: tuple[Role, ...] = get_args(Role)
KINDS: tuple[Kind, ...] = get_args(Kind)
ADDED: dict[tuple[str, str], int] = {
    (before, kind): 3 + n for n, before in enumerate((START, *KINDS)) for kind in KINDS
}
CLOSING = {"user": 5, "result": 7}
SEGMENTS = st.lists(st.tuples(st.sampled_from(ROLES), st.integers(30, 90)), min_size=1, max_size=15)


def count(kinds: list[Kind], content_tokens: int) -> int:
    """A template that frames each kind differently after each other, and opens the answer."""
    return content_tokens + sum(ADDED[step] + len(step[1]) for step in steps(kinds)) + CLOSING[kinds[-1]]


def learnt() -> Framing:
    return learn([Heard(p, PROBE_TOKENS * len(p), count(list(p), PROBE_TOKENS * len(p))) for p in PROBES])


@given(segments=SEGMENTS)
def test_probes_tell_what_every_conversation_costs(segments: list[tuple[Role, int]]) -> None:
    tokens = sum(size for _, size in segments)
    items = items_of(tokens, tuple(segments))
    spans = learnt().spans(items)
    sent = sum(span.stop - span.start for span in spans)
    assert count([item.kind for item in items], sent) == tokens
    assert all(span.stop == item.stop for span, item in zip(spans, items, strict=True))


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


def test_tokens_a_frame_takes_that_an_item_has_not_are_taken_from_those_behind() -> None:
    framing = Framing({(START, "user"): 10.0, ("user", "assistant"): 4.0, ("assistant", "user"): 4.0})
    items = (Item("user", 0, 6), Item("assistant", 6, 12), Item("user", 12, 60))
    sizes = [span.stop - span.start for span in framing.spans(items)]
    assert sizes == [1, 1, 40]
    assert sum(sizes) + 18 == 60


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
    told = learn([Heard(("user",), 3, 10)], frozenset({"call", "result"})).describe()
    assert told == {"costs": {"start user": 7.0}, "sent_as_text": ["call", "result"], "off_by_tokens": 0.0}

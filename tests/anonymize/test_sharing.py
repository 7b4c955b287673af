from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.audit.canonical import SharedBlocks, find_odd_block
from anonymize.contributions import Contributions
from anonymize.sharing import LEAST_CONTRIBUTORS, draw_shared, share_heads
from corpus.blocks import SHARED_FROM, expand_blocks
from corpus.session import Session
from corpus.soundness import find_flaw
from tests.anonymize.contributed import HARNESS, corpus_of, exchanges_of

type People = list[tuple[int | None, int, int]]

# who (None: nobody knows), how much of somebody's own stands behind the harness, and turns
people = st.lists(st.tuples(st.none() | st.integers(0, 6), st.integers(0, 2), st.integers(1, 2)), max_size=12)


def corpus(given_people: People) -> tuple[list[Session], Contributions]:
    return corpus_of(
        [
            exchanges_of(
                None if person is None else f"p{person}",
                HARNESS + "and orders of a team " * 20 * team,
                *(f"question {number} {n} " * 20 for n in range(turns)),
            )
            for number, (person, team, turns) in enumerate(given_people)
        ]
    )


def shared(sessions: list[Session], known: Contributions, seed: int = 0) -> list[Session]:
    drawn = draw_shared(known, range(len(sessions)), Random(seed))
    return [share_heads(one, known.common_blocks(one.session), drawn) for one in sessions]


def lists_of(session: Session) -> list[list[int]]:
    return [blocks.tolist() for blocks in expand_blocks([request.blocks for request in session.requests])]


@settings(max_examples=40)
@given(people, st.integers(0, 3))
def test_only_what_enough_people_sent_is_shared_and_nothing_else_changes(given_people: People, seed: int) -> None:
    sessions, known = corpus(given_people)
    made = shared(sessions, known, seed)
    seen = SharedBlocks()
    meaning: dict[int, set[tuple[int, ...]]] = {}
    for number, (before, after) in enumerate(zip(sessions, made, strict=True)):
        assert find_flaw(after) is None
        assert find_odd_block(after) is None, "own blocks are 1, 2, 3, ..., shared ones in front"
        seen.add(after)
        old, new = lists_of(before), lists_of(after)
        pairs = {(a, b) for one, other in zip(old, new, strict=True) for a, b in zip(one, other, strict=True)}
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}), "the same reuse inside a session"
        for block in {b for _, b in pairs if b >= SHARED_FROM}:
            meaning.setdefault(block, set()).add((number,))
    assert list(seen.flaws(public=True)) == []
    for sessions_of_block in meaning.values():
        who = {given_people[number][0] for (number,) in sessions_of_block} - {None}
        assert len(who) >= LEAST_CONTRIBUTORS
    told = {person for person, _, _ in given_people if person is not None}
    assert bool(meaning) == (len(told) >= LEAST_CONTRIBUTORS)


def test_below_five_people_nothing_is_shared_however_many_sessions() -> None:
    sessions, known = corpus([(number % 4, 0, 2) for number in range(12)])
    assert shared(sessions, known) == sessions
    sessions, known = corpus([(None, 0, 2)] * 12)
    assert known == Contributions()
    assert shared(sessions, known) == sessions


def test_a_teams_own_orders_are_shared_only_if_enough_of_it_gave() -> None:
    few, known = corpus([(number, int(number < 4), 1) for number in range(9)])
    many, all_known = corpus([(number, int(number < 5), 1) for number in range(9)])
    assert len(draw_shared(known, range(9), Random(1))) < len(draw_shared(all_known, range(9), Random(1)))
    assert few[0].requests[0].blocks == many[0].requests[0].blocks


def test_two_publications_draw_other_numbers_for_the_same_structure() -> None:
    sessions, known = corpus([(number, number % 2, 2) for number in range(12)])
    one, other = shared(sessions, known, 1), shared(sessions, known, 2)
    assert one != other
    renamed: dict[int, int] = {}
    for mine, yours in zip(one, other, strict=True):
        for a, b in zip(lists_of(mine), lists_of(yours), strict=True):
            assert len(a) == len(b)
            for x, y in zip(a, b, strict=True):
                assert (x == y) if x < SHARED_FROM else (renamed.setdefault(x, y) == y and y >= SHARED_FROM)
    assert set(renamed) == set(renamed.values()) == {SHARED_FROM + n for n in range(len(renamed))}
    assert len(renamed) > 6


def test_who_withdraws_does_not_count() -> None:
    _, known = corpus([(number, 0, 1) for number in range(5)])
    assert draw_shared(known, range(5), Random(0))
    assert not draw_shared(known, range(4), Random(0))


def test_sessions_of_equal_heads_begin_with_equal_numbers() -> None:
    sessions, known = corpus([(number, 0, 1) for number in range(5)])
    firsts = [np.array(lists_of(one)[0]) for one in shared(sessions, known)]
    assert all(np.array_equal(one[:6], firsts[0][:6]) and one[6] == 1 for one in firsts)

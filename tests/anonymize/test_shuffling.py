from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from anonymize.shuffling import in_random_order
from corpus.session import Session
from tests.anonymize.contributed import HARNESS, corpus_of, exchanges_of


def test_the_same_sessions_come_out() -> None:
    sessions, _ = corpus_of([exchanges_of(f"p{n}", HARNESS, *("go on " * 40 for _ in range(n + 1))) for n in range(5)])
    out = list(in_random_order(iter(sessions), Random(1)))
    assert out != sessions
    assert sorted(out, key=lambda one: one.session) == sessions


def test_every_order_is_as_likely_as_any_other() -> None:
    first, _ = corpus_of([exchanges_of("p", HARNESS, "hello")])
    three = [replace(first[0], session=number) for number in range(3)]
    random = Random(7)
    seen = Counter(tuple(one.session for one in in_random_order(three, random)) for _ in range(600))
    assert len(seen) == 6
    assert min(seen.values()) > 60, "100 each, give or take"


def test_nothing_is_given_before_all_is_there() -> None:
    taken: list[int] = []

    def sessions() -> Iterator[Session]:
        first, _ = corpus_of([exchanges_of("p", HARNESS, "hello")])
        for number in range(3):
            taken.append(number)
            yield replace(first[0], session=number)

    next(in_random_order(sessions(), Random(0)))
    assert taken == [0, 1, 2]


def test_no_sessions_are_none() -> None:
    assert list(in_random_order([], Random(0))) == []

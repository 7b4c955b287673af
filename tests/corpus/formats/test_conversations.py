from __future__ import annotations

import json

import pytest

from corpus.errors import InputError
from corpus.formats.conversations import Row, Source, Wait, sessions_of_rows
from corpus.session import Edge, Session
from corpus.soundness import find_flaw

SOURCE = Source("mooncake", "sessions", 64, "file", "name")


def row(number: int, name: str | None, start_s: int, ids: tuple[int, ...] = (), *waits: tuple[int, int]) -> Row:
    waited = tuple(Wait(other, delay * 1_000_000) for other, delay in waits)
    return Row(number, name, start_s * 1_000_000, 100, 5, ids, waited)


def read(*rows: Row) -> list[Session]:
    found = list(sessions_of_rows(rows, SOURCE))
    assert [find_flaw(session) for session in found] == [None] * len(found)
    return found


def members(sessions: list[Session]) -> list[list[int]]:
    return [sorted(r.position for r in session.requests) for session in sessions]


def test_conversations_are_sessions_unless_they_share_a_block() -> None:
    apart = [row(0, "a", 0, (1, 2)), row(1, "b", 1, (3,)), row(2, "a", 2, (1, 2, 4), (0, 2))]
    assert members(read(*apart)) == [[0, 2], [1]]
    assert [session.label for session in read(*apart)] == ["a", "b"]
    assert members(read(*apart, row(3, "c", 3, (3, 1)))) == [[0, 1, 2, 3]]


def test_rows_that_wait_for_each_other_are_one_session() -> None:
    found = read(row(0, "a", 0), row(1, "b", 1, (), (0, 1)), row(2, "a", 5, (), (0, 5), (1, 4)), row(3, "c", 9))
    assert members(found) == [[0, 1, 2], [3]]
    assert [(a.parent, a.kind) for a in found[0].agents] == [(None, "main"), (0, "subagent")]
    assert found[0].edges == (
        Edge(0, 1, "spawn", 1_000_000, "end", "id"),
        Edge(0, 2, "sequence", 5_000_000, "end", "id"),
        Edge(1, 2, "join", 4_000_000, "end", "id"),
    )


def test_nameless_rows_are_one_session_of_as_many_agents_that_wait_for_nobody() -> None:
    (session,) = read(row(0, None, 0, (1,)), row(1, None, 0, (2,)), row(2, None, 3))
    assert (len(session.agents), session.edges, session.label) == (3, (), "name")
    assert [a.kind for a in session.agents] == ["main"] * 3


def test_times_count_from_the_sessions_first_row_and_the_clock_is_kept() -> None:
    first, second = read(row(0, "a", 7), row(1, "b", 9), row(2, "b", 12, (), (1, 3)))
    assert [r.t_start_us for r in second.requests] == [0, 3_000_000]
    assert [json.loads(s.source or "")["t0_us"] for s in (first, second)] == [7_000_000, 9_000_000]


def test_equal_times_keep_the_order_of_the_file() -> None:
    (session,) = read(*(row(n, "a", 0, (1,)) for n in range(5)))
    assert [r.position for r in session.requests] == [0, 1, 2, 3, 4]


def test_two_that_name_each_other_have_no_parents_in_a_circle() -> None:
    (session,) = read(row(0, "a", 1, (), (3, 0)), row(1, "b", 2, (), (2, 0)), row(2, "a", 1), row(3, "b", 2))
    assert {a.parent for a in session.agents} == {None, 0}


def test_rows_in_a_circle_are_refused() -> None:
    with pytest.raises(InputError, match="file: rows wait for each other in a circle"):
        read(row(0, "a", 0, (), (1, 0)), row(1, "b", 0, (), (0, 0)))


def test_a_name_used_twice_is_told_apart() -> None:
    found = list(sessions_of_rows([row(0, "name", 0), row(1, None, 0)], SOURCE))
    assert [session.label for session in found] == ["name", "name+"]

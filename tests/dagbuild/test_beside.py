from __future__ import annotations

from collections.abc import Callable

import pytest

from corpus.session import Session
from dagbuild.link import link_session
from dagbuild.streams import split_streams

Make = Callable[..., Session]


def ids(*runs: tuple[int, int]) -> list[int]:
    return [first + offset for first, length in runs for offset in range(length)]


def edges(session: Session) -> list[tuple[int, int, str, str]]:
    return [(e.src, e.dst, e.kind, e.evidence) for e in link_session(session).edges]


BESIDE = [(0, 0, 1), (0, 2, 3), (0, 2.5, 4), (0, 5, 6)]


def test_a_fork_is_spawned_and_joined_though_no_id_names_it(make_session: Make) -> None:
    lists = [ids((0, 9)), ids((0, 12)), ids((0, 9), (50, 9)), ids((0, 15))]
    session = make_session(BESIDE, lists=lists, input_tokens=90_000, output_tokens=9000)
    assert edges(session) == [
        (0, 1, "sequence", "id"),
        (1, 2, "spawn", "fork"),
        (1, 3, "sequence", "id"),
        (2, 3, "join", "timing"),
    ]


@pytest.mark.parametrize(("weka", "kind"), [(True, "one_off"), (False, "found")])
def test_a_small_single_request_joins_only_where_the_recorder_heard_no_side_call(
    make_session: Make, *, weka: bool, kind: str
) -> None:
    lists = [ids((0, 9)), ids((0, 12)), ids((50, 9)), ids((0, 15))]
    session = make_session(BESIDE, lists=lists, weka=weka)
    assert [stream.kind for stream in split_streams(session).beside] == [kind]
    beside = [edge for edge in edges(session) if 2 in edge[:2]]
    assert [edge[2] for edge in beside] == (["aux"] if weka else ["spawn", "join"])


def test_three_forks_side_by_side_are_workers(make_session: Make) -> None:
    steps = [(0, 0, 1), (0, 2, 9), (0, 3, 9), (0, 4, 9), (0, 10, 11)]
    lists = [ids((0, 20)), *(ids((0, 19), (n * 50, 1)) for n in (1, 2, 3)), ids((0, 22))]
    session = make_session(steps, lists=lists, weka=True, input_tokens=90_000, output_tokens=9000)
    streams = split_streams(session)
    assert [(stream.kind, stream.fork_of) for stream in streams.beside] == [("worker", 0)] * 3
    assert [edge for edge in edges(session) if edge[2] == "join"] == [(n, 4, "join", "timing") for n in (1, 2, 3)]


def test_steps_of_a_found_conversation_follow_each_other_by_prefix(make_session: Make) -> None:
    steps = [(0, 0, 1), (0, 2, 9), (0, 3, 4), (0, 5, 6), (0, 10, 11)]
    lists = [ids((0, 9)), ids((0, 12)), ids((50, 9)), ids((50, 12)), ids((0, 15))]
    session = make_session(steps, lists=lists, weka=True, input_tokens=90_000)
    assert (2, 3, "sequence", "prefix") in edges(session)
    assert (3, 4, "join", "timing") in edges(session)


def test_one_stage_follows_the_other_unless_the_agent_took_a_step_between(make_session: Make) -> None:
    lists = [ids((0, 9)), ids((0, 12)), ids((50, 9)), ids((90, 9)), ids((0, 15)), ids((70, 9)), ids((0, 18))]
    steps = [(0, 0, 1), (0, 2, 3), (0, 2.5, 4), (0, 5, 6), (0, 7, 8), (0, 7.5, 9), (0, 10, 11)]
    session = make_session(steps, lists=lists, weka=True, input_tokens=90_000, output_tokens=9000)
    assert [edge[:2] for edge in edges(session) if edge[2] == "spawn"] == [(1, 2), (2, 3), (4, 5)]

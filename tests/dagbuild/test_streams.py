from __future__ import annotations

from collections.abc import Callable

from corpus.session import Session
from dagbuild.streams import first_after, last_ended, most_recent, split_streams

Make = Callable[..., Session]


def test_asides_are_kept_apart_and_know_whom_they_serve(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3), (0, 4, 5)], purposes={0: "title", 1: "web_search"})
    streams = split_streams(session)
    assert [r.request for r in streams.by_agent[0]] == [2]
    assert [(a.request.request, a.serves, a.returns) for a in streams.asides] == [(0, 0, False), (1, 0, True)]


def test_a_link_hangs_on_the_start_when_the_end_was_not_waited_for(make_session: Make) -> None:
    streams = split_streams(make_session([(0, 0, 5), (0, 2, 3)]))
    first, second = streams.by_agent[0]
    edge = streams.link(first, second, "sequence", "id")
    assert (edge.anchor, edge.delay_us) == ("start", 2_000_000)
    assert not streams.waits(first, second)


def test_neighbours_are_found_by_end_and_by_start(make_session: Make) -> None:
    streams = split_streams(make_session([(0, 0, 9), (0, 1, 2), (1, 3, 4), (0, 10, 11)]))
    child = streams.by_agent[1][0]
    ended, recent = last_ended(streams.by_agent[0], child), most_recent(streams.by_agent[0], child)
    assert ended is not None
    assert recent is not None
    assert (ended.request, recent.request) == (1, 1)
    following = first_after(streams.by_agent[0], child)
    assert following is not None
    assert following.request == 3


def test_an_unknown_end_counts_as_the_start(make_session: Make) -> None:
    streams = split_streams(make_session([(0, 0, None), (0, 4, 5)]))
    first, second = streams.by_agent[0]
    assert streams.link(first, second, "sequence", "id").delay_us == 4_000_000

from __future__ import annotations

from collections.abc import Callable

from corpus.session import Edge, Session
from dagbuild.link import link_session

Make = Callable[..., Session]
S = 1_000_000


def test_a_linear_session_is_a_chain_of_end_to_start_delays(make_session: Make) -> None:
    edges = link_session(make_session([(0, 0, 5), (0, 8, 9), (0, 9, 12)])).edges
    assert edges == (
        Edge(0, 1, "sequence", 3 * S, "end", "id"),
        Edge(1, 2, "sequence", 0, "end", "id"),
    )


def test_overlapping_steps_hang_on_the_start_and_the_overtaken_end_is_awaited_later(make_session: Make) -> None:
    edges = link_session(make_session([(0, 0, 10), (0, 4, 6), (0, 12, 13)])).edges
    assert edges == (
        Edge(0, 1, "sequence", 4 * S, "start", "id"),
        Edge(0, 2, "sequence", 2 * S, "end", "id"),
        Edge(1, 2, "sequence", 6 * S, "end", "id"),
    )


def test_step_hangs_on_the_one_just_before_even_when_it_waited_for_an_older_one(make_session: Make) -> None:
    edges = link_session(make_session([(0, 0, 10), (0, 5, 20), (0, 12, 13)])).edges
    assert {(e.src, e.dst, e.anchor) for e in edges} == {(0, 1, "start"), (0, 2, "end"), (1, 2, "start")}


def test_overlap_within_one_tick_of_a_coarse_clock_is_no_overlap(make_session: Make) -> None:
    steps = [(0, 0, 5.4), (0, 5, 7), (0, 5.5, 8)]
    assert link_session(make_session(steps, weka=True)).edges == (
        Edge(0, 1, "sequence", 0, "end", "timing"),
        Edge(1, 2, "sequence", S // 2, "start", "timing"),
    )
    assert link_session(make_session(steps)).edges[0] == Edge(0, 1, "sequence", 5 * S, "start", "id")


def test_unknown_end_counts_as_the_start(make_session: Make) -> None:
    edges = link_session(make_session([(0, 0, None), (0, 7, 9)])).edges
    assert edges == (Edge(0, 1, "sequence", 7 * S, "end", "id"),)


def test_import_whose_prompt_grows_in_its_own_stream_is_linked_by_prefix(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3)], lists=[[1], [1, 2, 3, 4]], weka=True)
    edges = link_session(session).edges
    assert edges == (Edge(0, 1, "sequence", S, "end", "prefix"),)


def test_retries_form_a_chain_and_the_stream_goes_on_from_the_last(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3), (0, 4, 5), (0, 5.5, 6), (0, 7, 8)], retries={2: 1, 3: 1})
    assert [(e.src, e.dst, e.kind) for e in link_session(session).edges] == [
        (0, 1, "sequence"),
        (1, 2, "retry"),
        (2, 3, "retry"),
        (3, 4, "sequence"),
    ]


def test_retry_after_another_step_still_names_the_failed_attempt(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3), (0, 4, 5)], retries={2: 0})
    assert {(e.src, e.dst, e.kind, e.evidence) for e in link_session(session).edges} >= {(0, 2, "retry", "id")}


def test_streams_of_different_agents_are_not_chained(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 3), (2, 4, 5), (1, 6, 7), (2, 8, 9)])
    assert [(e.src, e.dst) for e in link_session(session).edges if e.kind == "sequence"] == [(1, 3), (2, 4)]

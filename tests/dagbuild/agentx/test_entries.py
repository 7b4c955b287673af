from __future__ import annotations

from collections.abc import Callable

from corpus.session import Session
from dagbuild.agentx.entries import Entries, as_imported, entries_of
from dagbuild.prefixes import Prefixes
from tests.dagbuild.agentx.traces import EDGE_CASES, call, group, ids, session, trace


def entries(name: str) -> Entries:
    found = session(EDGE_CASES[name])
    return entries_of(found, Prefixes(found.requests).counts)


def test_places_count_entries_of_the_file_and_groups_count_one() -> None:
    found = entries("two_branches_off_one_turn")
    assert [one.place for one in found.calls] == [0, 5, 6]
    assert [one.place for one in found.groups] == [1, 2, 3, 4]
    assert [one.place for one in found.groups[0].calls] == [0]


def test_file_order_is_kept_where_time_differs() -> None:
    assert [one.start_s for one in entries("out_of_order").calls] == [9, 0, 4]


def test_inner_times_below_the_group_s_count_from_the_group() -> None:
    assert [one.start_s for one in entries("times_from_the_group").groups[0].calls] == [10, 15]


def test_a_group_ends_with_its_duration_else_with_its_last_request() -> None:
    assert [one.end_s for one in entries("two_branches_off_one_turn").groups] == [20, 23, 46, 50]
    assert entries("unknown_duration").groups[0].end_s == 103


def test_a_group_without_requests_has_a_place_and_an_end() -> None:
    only = entries("empty_group").groups[0]
    assert (only.place, only.end_s, only.calls) == (1, 30, ())


def test_unknown_durations_end_at_their_start() -> None:
    assert [one.end_s for one in entries("no_duration").calls] == [0, 5, 7]


def test_a_captured_session_is_read_through_its_export(make_session: Callable[..., Session]) -> None:
    captured = make_session([(0, 0, 1), (1, 2, 3), (0, 4, 5)])
    imported = as_imported(captured)
    found = entries_of(imported, Prefixes(imported.requests).counts)
    assert ([one.place for one in found.calls], [one.place for one in found.groups]) == ([0, 2], [1])


def test_an_import_is_taken_as_it_is() -> None:
    found = session(trace("t", call(0, 1, ids(3)), group("a", 2, 3)))
    assert as_imported(found) is found

from __future__ import annotations

from collections.abc import Callable

from corpus.session import Delivery, Session, ToolCall
from dagbuild.link import link_session
from dagbuild.timing import TimingReport, count_doubts

Make = Callable[..., Session]


def test_a_background_launch_fools_the_clock(make_session: Make) -> None:
    """Main goes on before the child starts, and again after it ended but before its report is read."""
    steps = [(0, 0, 1), (0, 2, 3), (1, 4, 5), (0, 6, 7), (0, 8, 9)]
    call = ToolCall(0, 0, 1, "agent", None, 1, (Delivery(4, "notification"),))
    session = link_session(make_session(steps, [call]))
    assert count_doubts(session) == {"spawns": 1, "spawns_wrong": 1, "joins": 1, "joins_wrong": 1}


def test_a_blocking_child_does_not(make_session: Make) -> None:
    session = link_session(make_session([(0, 0, 1), (1, 2, 3), (0, 4, 5)], [ToolCall(0, 0, 2, "agent", None, 1, ())]))
    assert count_doubts(session) == {"spawns": 1, "spawns_wrong": 0, "joins": 1, "joins_wrong": 0}


def test_what_was_only_told_by_time_is_not_counted(make_session: Make) -> None:
    assert not count_doubts(link_session(make_session([(0, 0, 1), (1, 2, 3), (0, 4, 5)])))


def test_a_report_adds_up_what_passes_through(make_session: Make) -> None:
    blocking = make_session([(0, 0, 1), (1, 2, 3), (0, 4, 5)], [ToolCall(0, 0, 2, "agent", None, 1, ())])
    report, sessions = TimingReport(), [link_session(blocking)] * 3
    assert list(report.watch(sessions)) == sessions
    assert report.document() == {"spawns": 3, "spawns_wrong": 0, "joins": 3, "joins_wrong": 0}

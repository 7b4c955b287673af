"""What a task's time went to: by hand for small plays, and adding up for any play of a simulated replay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.commands import ScheduleRules, Send
from replay.plan import PlanRules, plan_session
from replay.task_time import shares, task_time
from tests.replay.rehearsal import Asked, edge, row_of, session_of, simulate

S = 1_000_000


def row(request: int, sent: float, first: float, end: float, **changes: Any) -> Any:
    values = {
        "play": 1,
        "request": request,
        "sent_us": round(sent * S),
        "first_token_us": round(first * S),
        "end_us": round(end * S),
        "release_us": 0,
        "root_offset_us": None,
        "recorded_start_us": 0,
        "recorded_end_us": S,
    }
    return row_of(**{**values, **changes})


def after(*waits: tuple[int, float, str]) -> dict[str, Any]:
    return {
        "after": tuple(src for src, _, _ in waits),
        "after_delay_us": tuple(round(delay * S) for _, delay, _ in waits),
        "after_anchor": tuple(anchor for _, _, anchor in waits),
    }


def test_a_chain_is_its_answers_and_the_delays_between_them() -> None:
    rows = [
        row(0, 0.1, 1, 3, root_offset_us=0, recorded_end_us=2 * S),
        row(1, 5.2, 6, 9, **after((0, 2, "end")), recorded_start_us=4 * S, recorded_end_us=7 * S),
    ]
    found = task_time(rows)
    assert found is not None
    assert (found.task_us, found.path_us) == (8.9 * S, 9 * S)
    assert (found.tools_us, found.client_us) == (2 * S, 300_000)
    assert (found.first_token_us, found.decode_us) == (1_700_000, 5 * S)
    assert (found.recorded_us, found.recorded_path_us) == (7 * S, 7 * S)


def test_the_branch_that_was_waited_for_last_is_on_the_path() -> None:
    rows = [
        row(0, 0, 0.5, 1, root_offset_us=0),
        row(1, 1, 2, 9, **after((0, 0, "end"))),
        row(2, 1, 1.5, 2, **after((0, 0, "end"))),
        row(3, 10, 11, 12, **after((1, 1, "end"), (2, 1, "end"))),
    ]
    found = task_time(rows)
    assert found is not None
    assert (found.decode_us, found.tools_us) == (0.5 * S + 7 * S + 1 * S, 1 * S)


def test_of_a_request_whose_start_was_waited_for_nothing_is_on_the_path() -> None:
    rows = [row(0, 1, 5, 8, root_offset_us=S), row(1, 3, 4, 20, **after((0, 2, "start")))]
    found = task_time(rows)
    assert found is not None
    assert (found.first_token_us, found.decode_us, found.tools_us, found.client_us) == (S, 16 * S, 2 * S, 0)


def test_a_play_that_was_cut_has_no_task_time() -> None:
    assert task_time([row(0, 0, 1, 2), row(1, 3, 4, 5, end_us=None)]) is None
    assert task_time([]) is None


def test_shares_split_the_time_to_first_token_only_where_the_server_tells() -> None:
    found = task_time([row(0, 0, 4, 10, root_offset_us=0)])
    assert found is not None
    told = shares([found], 0.25)
    assert told == {
        "tools": 0,
        "client": 0,
        "first_token": 0.4,
        "queue": 0.1,
        "prefill": pytest.approx(0.3),
        "decode": 0.6,
    }
    unknown = shares([found], None)
    assert (unknown["queue"], unknown["prefill"], unknown["first_token"]) == (None, None, 0.4)
    assert set(shares([], None).values()) == {None}


@given(
    delays=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans()), min_size=1, max_size=8),
    seed=st.integers(0, 9),
)
def test_pieces_add_up_and_the_path_is_the_task_but_for_its_first_wait(
    delays: list[tuple[int, int, bool]], seed: int
) -> None:
    asked = [Asked(float(n), n + 0.5, (n + 1,)) for n in range(len(delays) + 1)]
    edges = [
        edge(max(0, n - back), n + 1, delay, "start" if start else "end")
        for n, (delay, back, start) in enumerate(delays)
    ]
    plan = plan_session(session_of(asked, edges), PlanRules(300 * S, 1, None))

    def took(send: Send) -> int:
        return (send.request.request * 7919 + seed) % 13 * 100_000 + 1

    rows = simulate([plan], ScheduleRules(1, "none", 10**12, 1), took).rows
    found = task_time(rows)
    assert found is not None
    assert found.tools_us + found.client_us + found.first_token_us + found.decode_us == found.path_us
    assert found.path_us >= found.task_us
    assert found.recorded_path_us > 0

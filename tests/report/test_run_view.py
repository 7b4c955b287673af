from __future__ import annotations

from dataclasses import replace
from typing import Any

from corpus.run import Run, SentRequest
from report.run_view import view_run
from tests.report.listed import listed

S = 1_000_000
ROW = SentRequest(
    lane=0,
    play=0,
    session=0,
    request=0,
    agent=0,
    phase="profile",
    model=None,
    planned_input_tokens=640,
    planned_output_tokens=10,
    after=(),
    after_delay_us=(),
    after_anchor=(),
    release_us=0,
    root_offset_us=0,
    due_us=10 * S,
    sent_us=10 * S + 2000,
    first_token_us=11 * S,
    last_token_us=12 * S,
    end_us=12 * S,
    measured_input_tokens=640,
    measured_output_tokens=10,
    cached_tokens=320,
    predicted_cached_tokens=320,
    status=200,
    error=None,
    recorded_start_us=0,
    recorded_end_us=3 * S,
)
CHILD = replace(
    ROW, request=1, agent=1, after=(0,), after_delay_us=(S,), after_anchor=("end",), sent_us=13 * S, end_us=15 * S
)


def _view(rows: list[SentRequest], summary: dict[str, Any] | None = None) -> dict[str, Any]:
    view: dict[str, Any] = listed(view_run("r", {"path": "run"}, Run({"seed": 42}, tuple(rows), summary or {})))
    return view


def _number(view: dict[str, Any], title: str) -> tuple[str, str]:
    return next((value, remark) for name, value, remark in view["numbers"] if name == title)


def test_numbers_carry_their_unit_and_which_way_is_better() -> None:
    view = _view([ROW], {"ttft_s": {"p50": 0.5, "p90": 1, "p99": 2}, "edge_violations": 0, "cache_hit_rate": 0.5})
    assert _number(view, "time to first token, s") == ("0.5 / 1 / 2", "p50 / p90 / p99, lower is better")
    assert _number(view, "sent before its predecessors") == ("0", "must be 0")
    assert _number(view, "prompt tokens served from cache") == ("50.0 %", "higher is better")


def test_what_the_summary_lacks_is_unknown_and_not_zero() -> None:
    view = _view([ROW], {"token_error": None})
    assert _number(view, "errors")[0] == "-"
    assert _number(view, "prompt tokens counted minus planned")[0] == "- / - / -"


def test_play_shows_what_was_recorded_and_what_was_replayed_from_a_common_start() -> None:
    view = _view([ROW, CHILD])
    bars, links, play = view["sheet"]["bars"], view["sheet"]["links"], view["views"][1]
    assert [bars["tone"]["words"][at] for at in bars["tone"]["at"]] == ["main", "child"]
    assert (bars["recorded"], bars["recorded_end"]) == ([0, 0], [3 * S, 3 * S])
    assert (bars["start"], bars["late"]) == ([10 * S + 2000, 13 * S], [2000, 3 * S])
    assert play["zero"] == [10 * S + 2000, 0]
    assert (links["dst"], links["back"]) == ([1], [1])
    assert links["delay"] == [0 - 3 * S - S]  # recorded 3 s before the other's end, planned 1 s after it


def test_warmup_comes_before_the_common_start() -> None:
    warm = replace(ROW, request=2, phase="warmup", due_us=0, sent_us=5 * S, recorded_start_us=-2 * S)
    play = _view([warm, ROW])["views"][1]
    assert play["zero"] == [ROW.sent_us, ROW.recorded_start_us]
    assert play["axis"][0] < 0


def test_whole_run_is_laid_out_by_lane_and_by_conversation() -> None:
    view = _view([ROW, CHILD, replace(ROW, lane=3, play=1), replace(ROW, lane=3, play=2, error="timeout")])
    by_lane, by_conversation = view["views"][0]["ways"]
    assert by_lane[1:] == [[["lane 0", 0], ["lane 3", 0]], [0, 0, 1, 1]]
    assert by_conversation[1:] == [[["play 0", 0], ["agent 1", 1], ["play 1", 0], ["play 2", 0]], [0, 1, 2, 3]]
    assert [row[1] for row in view["rows"]] == [4, 2, 1, 1]
    assert [row[3] for row in view["rows"]] == [1, 0, 0, 1]


def test_play_of_which_nothing_was_sent_is_still_listed() -> None:
    never = replace(ROW, play=1, sent_us=None, first_token_us=None, last_token_us=None, end_us=None, error="cut")
    view = _view([ROW, never])
    assert view["views"][2]["note"] == "Nothing of it was sent."
    assert view["rows"][2][4] is None


def test_config_and_notes_are_shown() -> None:
    view = _view([ROW], {"dropped_requests": {"over_context": 2}, "unfinished": 1, "errors_by_class": {"timeout": 3}})
    assert ["seed", "42"] in view["facts"]
    assert view["notes"] == [
        "failed requests, timeout: 3",
        "requests of the corpus never sent, over_context: 2",
        "requests cut off by the end of the run: 1",
    ]


def test_plays_are_stretches_of_the_rows_of_the_whole_run() -> None:
    view = _view([ROW, replace(ROW, lane=3, play=1), CHILD, replace(ROW, play=1, request=1, sent_us=None)])
    assert [drawn["rows"] for drawn in view["views"]] == [[0, 3], [0, 2], [2, 3]]
    (requests,) = [values for name, _, values in view["sheet"]["details"] if name == "request"]
    assert requests == [0, 1, 0]
    assert view["views"][0]["note"].endswith("Never sent: 1.")

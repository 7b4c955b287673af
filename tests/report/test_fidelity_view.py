from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from corpus.run import SentRequest
from report.fidelity_view import draw_fidelity
from tests.report.listed import listed

S = 1_000_000
Make = Callable[..., SentRequest]


def test_lateness_counts_from_what_was_measured(make_sent: Make) -> None:
    root = make_sent(sent_us=2000, end_us=2 * S)
    after = {"after": (0,), "after_delay_us": (S,), "after_anchor": ("end",)}
    late = make_sent(request=1, sent_us=3 * S + 5000, due_us=0, **after)
    charts = listed(draw_fidelity([root, late]))
    assert charts[0]["notes"] == ["2 values"]
    assert charts[1]["series"][0]["y"] == [2000, 5000]
    assert charts[1]["notes"] == ["1 dependencies; broken, must be 0: 0 requests"]


def test_what_is_early_or_waited_for_nothing_measured_breaks_a_dependency(make_sent: Make) -> None:
    after = {"after": (0,), "after_delay_us": (S,), "after_anchor": ("end",)}
    root, early, orphan = (
        make_sent(end_us=2 * S),
        make_sent(request=1, sent_us=2 * S, **after),
        make_sent(play=1, request=1, **after),
    )
    charts = listed(draw_fidelity([root, early, orphan]))
    assert charts[0]["notes"][-1] == "1 with an unmeasured predecessor"
    assert charts[1]["series"][-1] == {
        "name": "sent too early",
        "paint": "failed",
        "shape": "dots",
        "x": [2 * S],
        "y": [-S],
    }
    assert charts[1]["notes"] == ["2 dependencies; broken, must be 0: 2 requests"]


def test_start_anchors_count_from_the_start(make_sent: Make) -> None:
    after = {"after": (0,), "after_delay_us": (S,), "after_anchor": ("start",)}
    charts = listed(draw_fidelity([make_sent(sent_us=0), make_sent(request=1, sent_us=S, **after)]))
    assert charts[1]["series"][0]["y"] == [0, 0]


def test_token_errors_and_hits_say_what_has_no_count(make_sent: Make) -> None:
    rows = [make_sent(), make_sent(request=1, measured_input_tokens=641, cached_tokens=64, phase="warmup")]
    rows.append(replace(rows[0], request=2, measured_input_tokens=None, cached_tokens=None))
    charts = listed(draw_fidelity(rows))
    assert charts[2]["notes"] == ["1 of 2 differ; the server counted none for 1"]
    assert [(series["name"], series["y"]) for series in charts[2]["series"]] == [("profiling", [0]), ("warm-up", [1])]
    assert charts[3]["notes"] == ["1 of 2 below the line; no count of either kind for 1"]
    assert charts[3]["series"][-1]["x"] == [0, 320]


def test_nothing_sent_is_nothing_drawn(make_sent: Make) -> None:
    assert listed(draw_fidelity([make_sent(sent_us=None)])) == []

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from corpus.session import Session
from report.calibration_view import draw_calibration, view_calibration
from tests.report.listed import listed
from wire.usage import Usage

Make = Callable[..., Session]


def _counted(make_session: Make, billed: Sequence[int | None], models: Sequence[int] | None = None) -> list[Session]:
    changes: dict[int, dict[str, Any]] = {
        n: {
            "input_tokens": 2000,
            "model": models[n] if models else 0,
            "usage": None if tokens is None else Usage(input_tokens=tokens),
        }
        for n, tokens in enumerate(billed)
    }
    names = tuple(f"m{n}" for n in range(9))
    return [make_session([(0, float(n), n + 0.5) for n in range(len(billed))], changes, models=names)]


def test_every_model_has_its_dots_around_one(make_session: Make) -> None:
    by_request, by_length = listed(draw_calibration(_counted(make_session, [2000, 4000, 1600], [0, 1, 0])))
    assert [(s["name"], s["x"], s["y"]) for s in by_request["series"]] == [
        ("m0", [2000, 1600], [1.0, 1.25]),
        ("m1", [4000], [0.5]),
        ("as billed", [1600, 4000], [1, 1]),
    ]
    assert by_request["notes"][:1] == ["3 requests"]
    assert "33.3 % within 1 %" in by_request["notes"][1]
    assert by_request["y"][1] == "ratio"
    assert [s["name"] for s in by_length["series"]] == ["p95", "p50", "p5", "as billed"]


def test_rare_models_are_drawn_together_and_small_prompts_are_counted(make_session: Make) -> None:
    by_request, _ = listed(draw_calibration(_counted(make_session, [2000] * 7 + [999], [0, 0, 1, 2, 3, 4, 5, 0])))
    assert [s["name"] for s in by_request["series"]] == ["m0", "m1", "m2", "m3", "m4", "1 others", "as billed"]
    assert by_request["notes"][-1] == "under 1,000 tokens, not drawn: 1"


def test_nothing_counted_is_nothing_drawn(make_session: Make) -> None:
    assert draw_calibration(_counted(make_session, [None, 10])) == []


def test_a_calibration_shows_its_stages_and_what_it_left_out() -> None:
    ratios = {"p1": 0.9, "p50": 0.95, "p99": 1.0, "within_5": 0.5, "token_weighted": 0.96}
    report: dict[str, dict[str, Any]] = {
        "m": {
            "requests": 9,
            "sessions": 2,
            "small_requests_left_out": 3,
            "raw": ratios,
            "fitted": ratios | {"within_5": 1},
        },
        "n": {"requests": 1, "sessions": 1, "small_requests_left_out": 0},
    }
    view = listed(view_calibration("c", {"tokenizer": "t"}, report))
    assert [row[0] for row in view["spreads"]["rows"]] == ["m, raw", "m, fitted"]
    assert view["spreads"]["rows"][0][1:] == ["0.900", "0.950", "1.000", "50.0 %", "0.960"]
    assert view["notes"] == ["m: requests under 1,000 tokens, left out: 3"]
    assert [number[:2] for number in view["numbers"]] == [["m", "100.0 %"], ["n", "unknown"]]
    (_, (chart, empty)), *_ = view["charts"]
    assert (chart["series"][0]["name"], chart["series"][0]["y"]) == ("raw", pytest.approx([0.9, 0.95, 1.0]))
    assert [s["name"] for s in empty["series"]] == ["as billed"]

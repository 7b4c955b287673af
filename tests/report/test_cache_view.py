from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from corpus.session import Session
from report.cache_view import draw_caches
from tests.report.listed import listed

Make = Callable[..., Session]


def growing(make_session: Make, number: int) -> Session:
    lists = [list(range(1, 401 + 100 * n)) for n in range(5)]
    return make_session([(0, float(n), n + 0.5) for n in range(5)], prompts=lists, session=number)


def test_curves_rise_to_what_repeats_and_many_at_once_need_more(make_session: Make) -> None:
    rates, held = listed(draw_caches([growing(make_session, number) for number in range(20)]))
    assert rates["better"] == "higher is better"
    alone, many, aware = rates["series"]
    assert [s["name"] for s in rates["series"]][:2] == ["one session at a time", "16 at a time"]
    for series in rates["series"]:
        assert series["x"] == alone["x"] == sorted(series["x"])
        assert series["y"] == sorted(series["y"])
        assert series["y"][-1] == pytest.approx(2200 / 3000, abs=1e-4)
    assert all(a >= m for a, m in zip(alone["y"], many["y"], strict=True))
    assert alone["y"] != many["y"]
    assert all(w >= m for w, m in zip(aware["y"], many["y"], strict=True))
    (line,) = held["series"]
    assert max(line["y"]) == 64 * (16 * 700 + 100)  # when the first of them sends its last prompt
    assert line["x"] == sorted(line["x"])
    json.dumps([rates, held])


def test_a_single_session_has_one_curve_and_an_empty_corpus_no_chart(make_session: Make) -> None:
    rates, held = listed(draw_caches([growing(make_session, 0)]))
    assert len(rates["series"]) == 1
    assert held["series"][0]["y"] == [64 * blocks for blocks in (400, 500, 600, 700, 800)]
    assert listed(draw_caches([])) == []

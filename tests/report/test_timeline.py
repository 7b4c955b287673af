from __future__ import annotations

from report.timeline import Bar, Details, Drawing, Lane, Link, draw, encode_words
from tests.report.listed import listed


def test_words_become_positions_and_null_stays_null() -> None:
    assert listed(encode_words(["turn", None, "title", "turn"])) == {"words": ["turn", "title"], "at": [0, None, 1, 0]}


def test_drawings_are_stretches_of_one_sheet_and_what_nothing_tells_is_left_out() -> None:
    one = [Bar(0, "main", 0, 5, 10), Bar(1, "child", 12, None, None)]
    details: Details = {
        "prompt": ("tokens", [64, 128, 64]),
        "status": ("number", [None, None, None]),
        "stop": ("text", [None, "end_turn", None]),
    }
    drawings = [
        Drawing("one", "", [Lane("main", 0), Lane("subagent 1", 1)], one, [Link(0, 1, "spawn", "end", 1)]),
        Drawing("two", "", [Lane("main", 0)], [Bar(0, "main", 7, None, 9)]),
    ]
    drawn = listed(draw(drawings, details))
    bars, links = drawn["sheet"]["bars"], drawn["sheet"]["links"]
    assert (bars["lane"], bars["start"], bars["first"], bars["end"]) == (
        [0, 1, 0],
        [0, 12, 7],
        [5, None, None],
        [10, None, 2],
    )
    assert not {"late", "recorded"} & bars.keys()
    assert [name for name, _, _ in drawn["sheet"]["details"]] == ["prompt", "stop"]
    assert (links["dst"], links["back"], links["delay"], links["start"]) == ([1], [1], [1], [0])
    assert [view["rows"] for view in drawn["views"]] == [[0, 2], [2, 3]]
    assert drawn["views"][0]["axis"][:2] == [0, 12]


def test_an_axis_has_its_shortened_stretches_and_their_width() -> None:
    bars = [Bar(0, "main", 0, None, 100), Bar(0, "main", 10_000, None, 10_100)]
    (view,) = draw([Drawing("d", "", [Lane("main", 0)], bars)], {})["views"]
    assert view["axis"] == [0, 10_100, 4]
    assert view["cuts"] == [[100, 10_000]]


def test_times_of_very_many_bars_are_rounded() -> None:
    many = [Bar(0, "main", n, None, n + 1) for n in range(20_001)]
    bars = draw([Drawing("d", "", [Lane("main", 0)], many)], {})["sheet"]["bars"]
    assert bars["start"].step == 100

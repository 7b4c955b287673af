from __future__ import annotations

from report.timeline import Bar, Details, Lane, Link, draw, encode_words


def test_words_become_positions_and_null_stays_null() -> None:
    assert encode_words(["turn", None, "title", "turn"]) == {"words": ["turn", "title"], "at": [0, None, 1, 0]}


def test_drawing_holds_columns_and_leaves_out_what_nothing_tells() -> None:
    bars = [Bar(0, "main", 0, 5, 10), Bar(1, "child", 12, None, None, "lower")]
    details: Details = {
        "prompt": ("tokens", [64, 128]),
        "status": ("number", [None, None]),
        "stop": ("text", [None, "end_turn"]),
    }
    drawn = draw(
        "one", "", [Lane("main", 0), Lane("subagent 1", 1)], bars, details, [Link(0, 1, "spawn", "end", "why")]
    )
    assert drawn["bars"]["lane"] == [0, 1]
    assert drawn["bars"]["half"] == [0, 2]
    assert drawn["bars"]["end"] == [10, None]
    assert [name for name, _, _ in drawn["details"]] == ["prompt", "stop"]
    assert drawn["links"]["start"] == [False]
    assert drawn["axis"][0] == [0, 0.0]
    assert drawn["axis"][-1] == [12, 1.0]

from __future__ import annotations

from collections.abc import Callable

from corpus.session import Session
from report.flamegraph import draw_flamegraph

Make = Callable[..., Session]


def test_rows_split_prompts_into_repeated_and_new(make_session: Make) -> None:
    flame = draw_flamegraph(
        make_session([(0, 0, 1), (0, 2, 3)], {1: {"output_tokens": None}}, prompts=[[1], [1, 2, 3]])
    )
    assert (flame["cached"], flame["fresh"], flame["output"]) == ([0, 64], [64, 128], [1, None])
    assert flame["note"] == "Answers of unknown length, drawn without one: 1."


def test_other_agents_are_folded_where_they_began(make_session: Make) -> None:
    flame = draw_flamegraph(make_session([(0, 0, 1), (1, 1, 2), (0, 1, 2), (1, 3, 4), (0, 5, 6), (2, 5.5, 6)]))
    assert flame["groups"] == [["subagent 1", 1, [1, 3]], ["subagent 2", 1, [5]]]
    assert flame["order"] == [0, 2, ~0, 4, ~1]


def test_every_request_has_its_row(make_session: Make) -> None:
    session = make_session([(n % 3, n, n + 1) for n in range(12)])
    flame = draw_flamegraph(session)
    shown = [n for row in flame["order"] for n in ([row] if row >= 0 else flame["groups"][~row][2])]
    assert sorted(shown) == list(range(12))

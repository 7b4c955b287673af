from __future__ import annotations

from collections.abc import Callable

from corpus.session import Session
from report.distributions import Samples, collect_samples, draw_distributions

Make = Callable[..., Session]


def test_samples_count_turns_children_gaps_and_what_is_new(make_session: Make) -> None:
    changes = {2: {"purpose": "title"}, 3: {"output_tokens": None}}
    steps = [(0, 0, 1), (1, 1, 2), (0, 3, 4), (0, 5, 6)]
    samples = collect_samples([make_session(steps, changes, prompts=[[1], [1, 2], [3], [1, 2, 4]])])
    assert samples.values == {
        "input": [64, 128, 64, 192],
        "output": [1, 1, 1],
        "uncached": [64, 64, 64, 64],
        "gaps": [4_000_000],
        "turns": [2],
        "children": [1],
        "walls": [1_000_000],
        "cached": [192 / 448],
    }
    assert samples.unknown_answers == 1


def test_steps_without_a_pause_are_counted_and_said(make_session: Make) -> None:
    samples = collect_samples([make_session([(0, 0, 2), (0, 1, None), (0, 3, 4)])])
    assert (samples.values["gaps"], samples.overlapping, samples.open_ended) == ([], 1, 1)
    gaps = draw_distributions(samples)[3]
    assert gaps["notes"][1:] == [
        "1 steps began before the last one ended: no pause",
        "1 steps follow one whose end is unknown: no pause",
    ]


def test_each_distribution_asks_its_question_and_takes_an_overlay(make_session: Make) -> None:
    one, two = (collect_samples([make_session([(0, 0, 1)] * n)]) for n in (1, 3))
    drawn = draw_distributions(one, two, ("a", "b"))
    assert len(drawn) == 8
    assert all(chart["title"].endswith(("?", "(ISL)", "(OSL)")) for chart in drawn)
    assert {tuple(series["name"] for series in chart["series"]) for chart in drawn} == {("a", "b")}


def test_published_percentiles_are_laid_over_unless_there_is_another_data_set(make_session: Make) -> None:
    samples = collect_samples([make_session([(0, 0, 1), (0, 3, 4)])])

    def guided(other: Samples | None) -> list[str]:
        charts = draw_distributions(samples, other)
        return [words for chart in charts for _, words, of in chart["guides"] if of]

    assert guided(None) == ["p50 142k", "p50 444", "p50 3.84 s", "p90 60.0 s", "p78 4", "p50 2 min 16 s"]
    assert guided(samples) == []

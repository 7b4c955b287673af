from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from corpus.session import Session
from report.stats import collect_stats, render_stats

Make = Callable[..., Session]
WEKA = Path(__file__).resolve().parents[2].parent / "shared" / "traces" / "weka"
SPREAD = ["p10", "p50", "p90", "p95", "p99", "max"]


def test_document_has_the_contracted_keys(make_session: Make) -> None:
    stats = collect_stats([make_session([(0, 0, 1), (1, 2, 5), (1, 6, 8), (0, 10, 12)])])
    assert json.loads(json.dumps(stats)) == stats
    assert {name: stats[name] for name in ("sessions", "requests", "agents", "sessions_with_subagents")} == {
        "sessions": 1,
        "requests": 4,
        "agents": 2,
        "sessions_with_subagents": 1,
    }
    assert stats["subagents_per_session"] == dict.fromkeys(SPREAD, 1)
    assert stats["subagent_wall_s"] == dict.fromkeys(SPREAD, 6)
    assert list(stats["gap_s"]) == SPREAD
    assert stats["gap_s"]["max"] == 9
    assert stats["input_tokens"]["p50"] == 64


def test_prefix_hit_is_weighted_by_tokens(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3)], prompts=[[1, 2], [1, 2, *range(3, 9)]])
    assert collect_stats([session])["in_session_prefix_hit"] == pytest.approx(2 / 10)


def test_cache_does_not_reach_across_sessions(make_session: Make) -> None:
    one = make_session([(0, 0, 1)], prompts=[[1, 2]])
    assert collect_stats([one, replace(one, session=1)])["in_session_prefix_hit"] == 0


def test_sessions_without_subagents_do_not_thin_the_average(make_session: Make) -> None:
    stats = collect_stats([make_session([(0, 0, 1)]), make_session([(0, 0, 1), (1, 1, 2), (2, 1, 2)])])
    assert (stats["sessions_with_subagents"], stats["subagents_per_session"]["p50"]) == (1, 2)


def test_equal_sessions_under_another_name_are_counted(make_session: Make) -> None:
    one = make_session([(0, 0, 1)], source='{"id": "a"}')
    stats = collect_stats([one, replace(one, session=1, source='{"id": "b"}')])
    assert stats["anomalies"]["duplicate_session"] == 1


def test_nothing_known_gives_null_and_renders(make_session: Make) -> None:
    stats = collect_stats([])
    assert stats["gap_s"] == dict.fromkeys(SPREAD)
    assert stats["in_session_prefix_hit"] is None
    assert "0 sessions" in _text(stats)


def test_rendering_names_the_anomalies_found(make_session: Make) -> None:
    text = _text(collect_stats([make_session([(0, 0, None), (0, 2, 3)])]))
    assert "missing_api_time" in text
    assert "zero_output" not in text


@pytest.mark.skipif(not WEKA.is_dir(), reason="the public traces are not on this machine")
def test_real_traces_give_the_published_hit_rates_and_anomalies() -> None:
    """Figures from the description of these files: hit 0.950, two sub-agents, 30,423 skipped ids, equal pairs."""
    weka = pytest.importorskip("corpus.formats.weka", reason="the WEKA reader is not there yet")
    stats = collect_stats(weka.read_weka(WEKA / "trace_0003.json"))
    assert stats["in_session_prefix_hit"] == pytest.approx(0.950, abs=0.0006)
    assert stats["requests"] == 409
    assert stats["subagents_per_session"]["max"] == 2
    assert stats["anomalies"]["prefix_halved"] == 19
    gappy = collect_stats(weka.read_weka(WEKA / "trace_0004.json"))
    assert gappy["anomalies"]["non_dense_ids"] == 30_423
    twins = [s for name in ("0398", "0426") for s in weka.read_weka(WEKA / f"trace_{name}.json")]
    assert collect_stats(twins)["anomalies"]["duplicate_session"] == 1


def _text(stats: dict[str, object]) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(render_stats(stats))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_bars_show_how_the_values_lie_and_count_zeros(make_session: Callable[..., Session]) -> None:
    steps = [(0, float(n), n + 0.5) for n in range(4)]
    changes = {n: {"input_tokens": 10**n, "output_tokens": n // 2} for n in range(4)}
    stats = collect_stats([make_session(steps, changes)])
    assert stats["log_bins"]["input_tokens"]["counts"] == [1, *[0] * 4, 1, *[0] * 4, 1, *[0] * 4, 1]
    assert stats["log_bins"]["output_tokens"]["zeros"] == 2
    console = Console(width=120, color_system=None)
    with console.capture() as written:
        console.print(render_stats(stats))
    assert "█    █    █    █" in written.get()
    assert "2 x 0" in written.get()

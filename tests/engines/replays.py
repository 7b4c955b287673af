"""Runs the command line as a person would, and reads what it left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from corpus.run import Run, read_run
from corpus.server_metrics import read_server_metrics

_TIMEOUT_S = 1200


def agentreel(*args: str, enter: tuple[str, ...] = ()) -> str:
    """What it printed; the test fails with its messages when it does. `enter`: the command that leads to its place."""
    command = [*enter, sys.executable, "-m", "agentreel", *args]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S)
    assert done.returncode == 0, f"agentreel {' '.join(args)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def replay(source: Path, url: str, out: Path, *options: str, model: str = "tiny", enter: tuple[str, ...] = ()) -> Run:
    agentreel("replay", str(source), "--url", url, "--model", model, "--out", str(out), *options, enter=enter)
    return read_run(out)


def sentence(name: str, run: Run) -> str:
    """One line of numbers about a run, for the end of the tests' output."""
    summary = run.summary
    rows = [row for row in run.requests if row.error is None and row.phase == "profile"]
    cached = [row.cached_tokens for row in rows if row.cached_tokens is not None]
    predicted = [row.predicted_cached_tokens for row in rows if row.predicted_cached_tokens is not None]
    return (
        f"{name}: {summary['requests']} requests in {summary['duration_s']:.1f} s, {summary['errors']} errors, "
        f"{sum(row.planned_input_tokens for row in rows)} prompt tokens, token error max "
        f"{summary['token_error']['max']}, {summary['edge_violations']} of {summary['edges']} edges violated, "
        f"cached {sum(cached)}, predicted {sum(predicted)}, dropped {summary['dropped_share']:.1%}"
    )


def counted(run: Path) -> dict[str, float]:
    """By how much the server's own counters grew from the first scrape to the last."""
    samples = read_server_metrics(run)
    begin, end = samples[0].at_us, samples[-1].at_us
    before = {sample.name: sample.value for sample in samples if sample.at_us == begin}
    return {sample.name: sample.value - before[sample.name] for sample in samples if sample.at_us == end}

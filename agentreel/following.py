"""A replay as it goes, for a person: a line that is written over on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentreel.console import LINE_EVERY_S, note
from replay.progress import Progress


@contextmanager
def following() -> Iterator[Callable[[Progress], None]]:
    """Yields what is to be told of every progress; what a person should know is said once and stays."""
    said: set[str] = set()

    def warn(progress: Progress) -> None:
        for words in progress.told:
            if words not in said:
                said.add(words)
                note(words)

    if not sys.stderr.isatty():
        yield _lines(warn)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:

        def show(progress: Progress) -> None:
            warn(progress)
            live.update(Text(describe(progress), overflow="ellipsis", no_wrap=False))

        yield show


def _lines(warn: Callable[[Progress], None]) -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        warn(progress)
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            print(describe(progress), file=sys.stderr, flush=True)

    return show


def describe(progress: Progress) -> str:
    """Counts, then what the last moments were like; what is not known yet is left out."""
    if not progress.sent:
        return "beginning"
    if progress.phase == "warmup":
        when = f"warmup {progress.elapsed_s:.0f} s"
    elif progress.profiled_s > progress.duration_s:
        when = "profile over, waiting for answers"
    else:
        when = f"profile {progress.profiled_s:.0f} of {progress.duration_s:.0f} s"
    said = [
        f"{when}: {progress.ended} of {progress.sent} sent requests ended",
        f"{progress.in_flight} in flight",
        f"{progress.errors} errors",
        f"{progress.sessions_completed} sessions completed",
    ]
    if progress.output_tps is not None:
        said.append(f"{progress.output_tps:.0f} tok/s out")
    if progress.ttft_p90_s is not None:
        said.append(f"TTFT p90 {progress.ttft_p90_s:.3g} s")
    if progress.lateness_p99_ms is not None:
        said.append(f"lateness p99 {progress.lateness_p99_ms:.2g} ms")
    return ", ".join(said)

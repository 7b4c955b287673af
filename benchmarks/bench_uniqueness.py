"""How recognisable real sessions are by their lengths: the table of docs/privacy.md, exact and as published."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from anonymize.audit.uniqueness import RUNS, STEPS, measure, uniqueness_table
from anonymize.public import public_session
from corpus.formats.weka import read_weka
from corpus.session import Session

TRACES: Final = Path(__file__).resolve().parents[2] / "shared" / "traces" / "weka"


def percents(sessions: Iterable[Session], steps: Iterable[int]) -> dict[str, dict[str, float]]:
    """Unique runs of k differences, by step and k."""
    measured = measure(sessions)
    shares = {step: {run: measured.share(step, run) or 0.0 for run in RUNS} for step in steps}
    return {str(step): {str(run): round(100 * share, 1) for run, share in row.items()} for step, row in shares.items()}


def main() -> None:
    if not TRACES.is_dir():
        print(json.dumps({"bench": "uniqueness", "skipped": "no WEKA traces beside the repository"}))
        return
    sessions = list(read_weka(TRACES))
    if "--markdown" in sys.argv:
        print(uniqueness_table(measure(sessions)))
        return
    line = {
        "bench": "uniqueness",
        "sessions": len(sessions),
        "requests": sum(len(session.requests) for session in sessions),
        "percent_unique": percents(sessions, STEPS),
        "percent_unique_as_published": percents(map(public_session, sessions), STEPS[2:3]),
        "target": "none: a report",
        "ok": True,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()

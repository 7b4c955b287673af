from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import gc, sys
from proxy.tuning import tune_process
before = gc.get_threshold()
tune_process()
print(gc.get_freeze_count() > 1000, gc.get_threshold()[0] > before[0], gc.get_threshold()[1:] == before[1:])
print(gc.isenabled(), sys.getswitchinterval() < 0.005)
"""


def test_collections_become_rarer_and_stay_on() -> None:
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 5


def test_a_recorder_inside_another_program_leaves_it_alone() -> None:
    from proxy import engine, listeners  # noqa: F401 - what start_recorder imports

    assert gc.get_freeze_count() == 0

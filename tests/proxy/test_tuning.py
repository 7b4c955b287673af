from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import gc, sys
from proxy.tuning import tune_process
before = gc.get_threshold()
tune_process()
print(gc.get_freeze_count() > 1000, gc.get_threshold()[0] > before[0], gc.get_threshold()[1:] == before[1:])
print(gc.isenabled(), sys.getswitchinterval() < 0.005)
"""


LIMITS = """
import resource
from proxy.tuning import tune_process
resource.setrlimit(resource.RLIMIT_NOFILE, {limits})
tune_process()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def said(script: str) -> list[str]:
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_collections_become_rarer_and_stay_on() -> None:
    assert said(SCRIPT) == ["True"] * 5


@pytest.mark.parametrize(("limits", "then"), [((128, 900), "900"), ((900, 900), "900")])
def test_as_many_descriptors_as_the_system_lets_it_have(limits: tuple[int, int], then: str) -> None:
    assert said(LIMITS.format(limits=limits)) == [then, "900"]


def test_a_recorder_inside_another_program_leaves_it_alone() -> None:
    from proxy import engine, listeners  # noqa: F401 - what start_recorder imports

    assert gc.get_freeze_count() == 0

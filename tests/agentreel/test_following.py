from __future__ import annotations

from dataclasses import replace

import pytest

from agentreel.following import describe, following
from replay.progress import Progress

EARLY = Progress("warmup", 3, 0, 60, 12, 4, 8, 0, 0)
LATER = replace(EARLY, phase="profile", profiled_s=9.6, output_tps=812.4, ttft_p90_s=0.213, lateness_p99_ms=1.25)


def test_what_is_not_known_yet_is_left_out() -> None:
    assert describe(EARLY) == ("warmup 3 s: 8 of 12 sent requests ended, 4 in flight, 0 errors, 0 sessions completed")


def test_a_running_replay_shows_speed_latency_and_lateness() -> None:
    said = describe(LATER)
    assert said.startswith("profile 10 of 60 s: ")
    assert said.endswith("812 tok/s out, TTFT p90 0.213 s, lateness p99 1.2 ms")


def test_before_the_first_request_and_after_the_last_it_says_so() -> None:
    assert describe(replace(EARLY, sent=0)) == "beginning"
    assert describe(replace(LATER, profiled_s=61)).startswith("profile over, waiting for answers: 8 of 12")


def test_a_warning_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with following() as show:
        for _ in range(3):
            show(replace(LATER, told=("wrong tokenizer?",)))
    captured = capsys.readouterr()
    assert captured.err.count("wrong tokenizer?") == 1
    assert captured.out == ""

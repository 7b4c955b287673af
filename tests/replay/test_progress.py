from __future__ import annotations

from dataclasses import replace

import pytest

from corpus.run import ErrorClass
from replay.progress import Brief, Meter, Tally, brief, wrong_lengths
from tests.replay.rehearsal import row_of


def tally(*rows: Brief, in_flight: int = 0, started: int | None = None, error: ErrorClass | None = None) -> Tally:
    return Tally((("profile", error, len(rows)),), rows, in_flight, 1, started)


def test_brief_of_a_row_has_its_latencies() -> None:
    row = row_of(due_us=5, sent_us=9, first_token_us=100, measured_output_tokens=7, planned_input_tokens=64)
    assert brief(row) == Brief(91, 4, 7, 64, None)
    assert brief(row_of(sent_us=None, first_token_us=None))[:2] == (None, None)


def test_workers_are_added_up() -> None:
    meter = Meter(60, 2)
    meter.add(0, tally(Brief(200_000, 1_000, 10, 64, 64), in_flight=3, started=2_000_000), 4.0)
    meter.add(1, tally(Brief(400_000, 3_000, 30, 64, 64), in_flight=1, error="timeout"), 4.0)
    found = meter.progress(4.0)
    assert (found.phase, found.profiled_s, found.sent, found.in_flight, found.ended) == ("profile", 2.0, 6, 4, 2)
    assert (found.errors, found.sessions_completed, found.output_tps) == (1, 2, 10.0)
    assert (found.ttft_p90_s, found.lateness_p99_ms, found.told) == (0.4, 3.0, ())


def test_the_first_failure_of_each_class_is_told_in_its_words_whichever_worker_had_it() -> None:
    meter = Meter(60, 2)
    meter.add(0, replace(tally(), words=(("http_4xx", "no such model"),)), 1.0)
    meter.add(1, replace(tally(), words=(("http_4xx", "no such tool"), ("reset", "the connection was lost"))), 1.0)
    assert meter.progress(1.0).told == ("first http_4xx: no such model", "first reset: the connection was lost")


def test_nothing_heard_yet_is_warm_up_without_numbers() -> None:
    found = Meter(60).progress(0.0)
    assert (found.phase, found.output_tps, found.ttft_p90_s, found.lateness_p99_ms) == ("warmup", None, None, None)


def test_token_rate_forgets_what_is_long_past() -> None:
    meter = Meter(60)
    meter.add(0, tally(Brief(1, 1, 1000, 64, 64)), 1.0)
    meter.add(0, tally(Brief(1, 1, 50, 64, 64)), 30.0)
    assert meter.progress(30.0).output_tps == 5.0


@pytest.mark.parametrize(("factor", "warns"), [(1.0, False), (1.01, False), (1.3, True), (0.7, True)])
def test_other_prompt_lengths_than_planned_are_told_after_ten_answers(factor: float, warns: bool) -> None:
    prompts = [(1000, round(1000 * factor))] * 10
    assert wrong_lengths(prompts[:9]) == ""
    assert bool(wrong_lengths(prompts)) is warns


def test_one_odd_answer_is_no_pattern() -> None:
    assert wrong_lengths([(1000, 1000)] * 9 + [(1000, 5)]) == ""

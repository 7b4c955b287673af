from __future__ import annotations

import pytest

from corpus.blocks import expand_blocks
from corpus.errors import InputError
from replay.commands import ScheduleRules
from replay.fixed import fixed_session
from replay.plan import plan_session
from tests.replay.rehearsal import PLAIN_RULES, simulate


def test_request_has_the_size_that_was_asked_for() -> None:
    session = fixed_session("fixed:1000,64")
    (request,) = session.requests
    assert (request.input_tokens, request.output_tokens, session.label) == (1000, 64, "fixed:1000,64")
    assert len(expand_blocks([request.blocks])[0]) == 15  # whole ones; the rest is a tail


@pytest.mark.parametrize("source", ["fixed:", "fixed:10", "fixed:10,", "fixed:0,5", "fixed:5,0", "fixed:a,b"])
def test_other_words_are_refused(source: str) -> None:
    with pytest.raises(InputError, match="fixed:ISL,OSL"):
        fixed_session(source)


def test_every_lane_sends_the_next_request_as_soon_as_one_ended_and_no_two_share_a_play() -> None:
    plan = plan_session(fixed_session("fixed:10,2"), PLAIN_RULES)
    run = simulate([plan], ScheduleRules(3, "none", 10_000_000, 42, repeats=True), lambda _send: 1_000_000)
    assert len(run.rows) == 30
    assert len({row.play for row in run.rows}) == 30
    for start in range(0, 30, 3):
        assert {row.sent_us for row in run.rows[start : start + 3]} == {start // 3 * 1_000_000}

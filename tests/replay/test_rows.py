from __future__ import annotations

from replay.commands import Send
from replay.plan import plan_session
from replay.rows import row_of
from replay.transport import Outcome
from tests.replay.rehearsal import PLAIN_RULES, Asked, edge, session_of
from wire.usage import Usage

PLAN = plan_session(session_of([Asked(0, 1, (1,)), Asked(2, 3, (1, 2))], [edge(0, 1, 1)]), PLAIN_RULES)
SEND = Send(4, 9, PLAN, PLAN.requests[1], "profile", 2, PLAN.requests[1].waits, 7, None, 50)


def test_row_joins_plan_and_outcome() -> None:
    usage = Usage(input_tokens=130, output_tokens=2, cache_read_tokens=64)
    row = row_of(SEND, Outcome(60, 70, 80, 90, 200, usage))
    assert (row.lane, row.play, row.request, row.after, row.after_delay_us) == (4, 9, 1, (0,), (1_000_000,))
    assert (row.due_us, row.sent_us, row.first_token_us, row.last_token_us, row.end_us) == (50, 60, 70, 80, 90)
    assert (row.planned_input_tokens, row.measured_input_tokens, row.cached_tokens) == (128, 130, 64)
    assert row.error is None


def test_request_without_an_end_was_cut_whatever_was_seen_of_it() -> None:
    row = row_of(SEND, Outcome(60, 70, error="bad_stream"))
    assert (row.error, row.measured_input_tokens) == ("cut", None)

"""What is kept of a request: the plan it came from and what became of it, as one row."""

from __future__ import annotations

from corpus.run import SentRequest
from replay.commands import Send
from replay.transport import Outcome


def row_of(send: Send, outcome: Outcome) -> SentRequest:
    """A request without an end was still in flight when the run ended."""
    planned, usage = send.request, outcome.usage
    return SentRequest(
        lane=send.lane,
        play=send.play,
        session=send.plan.session,
        request=planned.request,
        agent=planned.agent,
        phase=send.phase,
        model=planned.model,
        planned_input_tokens=planned.input_tokens,
        planned_output_tokens=send.output_tokens,
        after=tuple(wait.src for wait in send.waits),
        after_delay_us=tuple(wait.delay_us for wait in send.waits),
        after_anchor=tuple(wait.anchor for wait in send.waits),
        release_us=send.release_us,
        root_offset_us=send.root_offset_us,
        due_us=send.due_us,
        sent_us=outcome.sent_us,
        first_token_us=outcome.first_token_us,
        last_token_us=outcome.last_token_us,
        end_us=outcome.end_us,
        measured_input_tokens=usage.input_tokens if usage else None,
        measured_output_tokens=usage.output_tokens if usage else None,
        cached_tokens=usage.cache_read_tokens if usage else None,
        predicted_cached_tokens=None,
        status=outcome.status,
        error=outcome.error if outcome.end_us is not None else "cut",
        recorded_start_us=planned.recorded_start_us,
        recorded_end_us=planned.recorded_end_us,
    )

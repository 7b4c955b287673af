from __future__ import annotations

from dataclasses import replace

from corpus.formats.trace_rows import (
    Prompt,
    Tally,
    Written,
    added_tokens,
    agent_names,
    answered_part,
    asked_tokens,
    conversations,
    imported,
    is_answered,
    is_whole,
    output_tokens,
)
from corpus.session import Session
from tests.corpus.formats.sessions import make_session
from tests.plain import plain_request
from wire.usage import Usage


def test_failed_attempts_and_what_generates_nothing_stay_behind(captured: Session) -> None:
    assert [is_answered(r) for r in captured.requests] == [True, False, True, True, True, True, True]
    assert not is_answered(plain_request(0, purpose="count_tokens"))
    assert not is_answered(plain_request(0, status=529))
    assert [r.position for r in answered_part(captured).requests] == [0, 2, 3, 4, 5, 6]
    assert [r.position for r in answered_part(captured, besides={0}).requests] == [2, 3, 4, 5, 6]


def test_empty_prompts_stay_behind() -> None:
    assert answered_part(make_session([{"input_tokens": 0}, {}], [[], []])).requests[0].position == 1


def test_unknown_answers_are_what_the_provider_counted_and_asked_for_at_least_once() -> None:
    counted = plain_request(0, output_tokens=None, usage=Usage(1, None, None, 7, None))
    assert (output_tokens(counted), output_tokens(plain_request(0, output_tokens=None))) == (7, 0)
    assert [asked_tokens(plain_request(0, output_tokens=n)) for n in (None, 0, 3)] == [1, 1, 3]


def test_agents_are_named_after_their_session(captured: Session) -> None:
    assert agent_names(captured) == ["session-1", "session-1::agent_001", "session-1::agent_002"]
    assert (imported(captured), is_whole(captured)) == ({}, False)


def test_imports_name_their_own(captured: Session) -> None:
    told = replace(captured.agents[1], source='{"id":"child"}')
    session = replace(captured, source='{"id":"x","t0_us":0,"rows":7}', agents=(captured.agents[0], told))
    assert agent_names(session) == ["x", "child"]
    assert is_whole(session)
    assert not is_whole(replace(session, requests=session.requests[:3]))


def test_asides_are_conversations_of_their_own() -> None:
    session = make_session([{}, {"purpose": "title"}, {}, {"agent": 1}], [[1], [2], [1, 3], [4]])
    found = [(name, [r.request for r in requests]) for name, requests in conversations(session)]
    assert found == [("session-1", [0, 2]), ("session-1::agent_001", [3]), ("session-1::aside_0001", [1])]


def test_a_turn_adds_what_is_new_since_the_answer() -> None:
    lists = [[1, 2], [1, 2, 3, 4], [1, 9, 3, 4]]
    rows = [{"input_tokens": 130, "output_tokens": 20}, {"input_tokens": 256}, {"input_tokens": 256}]
    first, second, other = make_session(rows, lists).requests
    assert added_tokens(Prompt(first, 130), second, lists, 64) == 106
    assert added_tokens(Prompt(first, 130), other, lists, 64) is None
    assert added_tokens(Prompt(first, 260), second, lists, 64) == 1  # ahead of the recording, a little
    assert added_tokens(Prompt(first, 280), second, lists, 64) is None  # by more than an eighth


def test_tally_counts_what_is_left_out() -> None:
    tally = Tally()
    tally.add(5, 3)
    tally.add(2, 0)
    assert tally.written() == Written(sessions=1, requests=3, left_out_sessions=1, left_out_requests=4)

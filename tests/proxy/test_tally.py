from __future__ import annotations

from dataclasses import replace

from corpus.exchange import Identity, RequestRecord, ResponseRecord
from proxy.tally import Tally

REQUEST = RequestRecord(
    "e1", 10, 20, "POST", "/x", "other", "u", (), Identity(session_id="s", harness="codex", model="m"), None, 3, b"ask"
)
RESPONSE = ResponseRecord("e1", "complete", 200, (), 3, 4, 50, (6,), (1,), None, None, 6, b"answer")


def test_a_session_counts_agents_requests_bytes_and_what_is_open() -> None:
    tally = Tally()
    tally.heard_request(REQUEST)
    tally.heard_request(replace(REQUEST, identity=Identity(session_id="s", agent_id="a1"), t_request_us=30))
    tally.heard_response("s", RESPONSE)
    (session,) = tally.sessions()
    assert (session.requests, session.open, session.bytes, session.agents) == (2, 1, 12, {"a1"})
    assert (session.harness, session.model, session.t_first_us, session.t_last_us) == ("codex", "m", 10, 50)


def test_only_the_sessions_heard_last_are_kept() -> None:
    tally = Tally(sessions_kept=2)
    for session_id in ("a", "b", "a", "c"):
        tally.heard_request(replace(REQUEST, identity=Identity(session_id=session_id)))
    assert [session.session_id for session in tally.sessions()] == ["a", "c"]


def test_what_was_handed_out_does_not_change() -> None:
    tally = Tally()
    tally.heard_request(REQUEST)
    (before,) = tally.sessions()
    tally.heard_request(replace(REQUEST, identity=Identity(session_id="s", agent_id="a1")))
    assert (before.requests, before.agents) == (1, set())

from __future__ import annotations

import pytest

from corpus.exchange import Identity
from proxy.heard import gather
from proxy.identity import identify_heard
from proxy.installations import NEAR_US, Installations
from tests.proxy.captured import codex_requests, needs_captures
from tests.proxy.test_identity import codex
from wire.facts import peek_request


def heard(installations: Installations, at_us: int, session_id: str, source: str, installation: str = "i") -> Identity:
    metadata = {"session_id": session_id, "thread_id": session_id, "thread_source": source}
    record = codex(metadata | {"installation_id": installation, "request_kind": "turn"})
    facts = gather(record, record.body, peek_request(record.api, record.body))
    return installations.attach(facts, identify_heard(facts), at_us)


@pytest.mark.parametrize("source", ["thread_title", "memory_consolidation"])
def test_a_thread_without_a_parent_joins_the_conversation_heard_last_and_says_so(source: str) -> None:
    installations = Installations()
    assert not heard(installations, 0, "old", "user").session_guessed
    heard(installations, 1, "main", "user")
    heard(installations, 2, "elsewhere", "user", installation="j")
    aside = heard(installations, 3, "own", source)
    assert (aside.session_id, aside.agent_id, aside.agent_kind) == ("main", "own", "side")
    assert aside.session_guessed


def test_nothing_is_guessed_without_a_conversation_near_enough() -> None:
    installations = Installations()
    assert heard(installations, 0, "own", "thread_title").session_id == "own"
    heard(installations, 1, "main", "user")
    late = heard(installations, 2 + NEAR_US, "own", "thread_title")
    assert (late.session_id, late.session_guessed) == ("own", False)


def test_such_threads_are_no_conversation_to_join() -> None:
    installations = Installations()
    heard(installations, 0, "memories", "memory_consolidation")
    assert heard(installations, 1, "title", "thread_title").session_id == "title"


def test_memory_is_bounded() -> None:
    installations = Installations(remembered=2)
    for number in range(3):
        heard(installations, number, f"main{number}", "user", installation=f"i{number}")
    sessions = [heard(installations, 9, "own", "thread_title", f"i{number}").session_id for number in range(3)]
    assert sessions == ["own", "main1", "main2"]


@needs_captures
def test_recorded_memory_threads_join_the_session_that_was_starting() -> None:
    installations = Installations()
    identities = []
    for at_us, record in enumerate(codex_requests("memories")):
        facts = gather(record, record.body, peek_request(record.api, record.body))
        identities.append(installations.attach(facts, identify_heard(facts), at_us))
    guessed = [identity for identity in identities if identity.session_guessed]
    assert {identity.session_id for identity in guessed} == {identities[0].session_id}
    assert {identity.agent_kind for identity in guessed} == {"side"}
    assert len(guessed) == 2  # its handshake and its request

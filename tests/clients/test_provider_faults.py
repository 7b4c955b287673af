"""Real clients, and a provider or a person that does not behave: an interrupt, a 500."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus.exchange import Exchange
from tests.clients.gate import closed_gate
from tests.clients.person import someone
from tests.clients.provider import Stall, claude_answer, codex_answer, heard, play, refuse, say
from tests.clients.scenarios import Client
from tests.proxy.conftest import Recording
from tests.proxy.loopback import Upstream

ANSWER = {"claude": claude_answer, "codex": codex_answer}
both_clients = pytest.mark.parametrize("client", ["claude", "codex"])


@pytest.fixture
def provider() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


def turns(recording: Recording) -> list[Exchange]:
    return [exchange for exchange in recording.exchanges() if exchange.request.identity.purpose == "turn"]


@both_clients
def test_an_interrupted_answer_is_kept_as_far_as_it_came_and_the_session_goes_on(
    client: Client, programs: dict[str, Path], provider: Upstream, tmp_path: Path
) -> None:
    answer = ANSWER[client]
    stall = Stall(answer("half an answer"))
    play(provider, stall, say(answer("a whole answer")))
    with closed_gate() as gate, heard(provider, tmp_path) as recording:
        one = someone(client, programs, tmp_path, recording.urls, gate.url)
        one.ask_and_interrupt("What is the time?", stall)
        assert "a whole answer" in one.ask("And now?", resume=True)
        first, *_, last = turns(recording)
    assert (first.end, last.end) == ("client_abort", "complete")
    assert first.response is not None
    assert first.response.body.replace(b"\r\n", b"").count(b"half an answer") >= 1
    assert first.request.identity.session_id == last.request.identity.session_id is not None
    assert b"What is the time?" in last.request.body
    assert b"And now?" in last.request.body


@both_clients
def test_a_failing_provider_is_asked_again_and_the_attempts_are_linked(
    client: Client, programs: dict[str, Path], provider: Upstream, tmp_path: Path
) -> None:
    play(provider, refuse(500), say(ANSWER[client]("at last")))
    with closed_gate() as gate, heard(provider, tmp_path) as recording:
        assert "at last" in someone(client, programs, tmp_path, recording.urls, gate.url).ask("Hello?")
        first, second = turns(recording)
    assert [one.response.status if one.response else None for one in (first, second)] == [500, 200]
    assert second.request.retry_of == first.request.exchange_id

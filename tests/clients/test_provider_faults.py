"""Real clients, and a provider or a person that does not behave: an interrupt, a 500, a forward proxy."""

from __future__ import annotations

import secrets
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from corpus.exchange import Exchange
from tests.clients.chain import Own, claude_set_up, codex_set_up
from tests.clients.gate import closed_gate
from tests.clients.programs import RUN_LIMIT_S, empty_environment, kill_left, run_to_end
from tests.clients.provider import Stall, claude_answer, codex_answer, heard, play, refuse, say
from tests.clients.scenarios import Planted, Scenario, make_repository
from tests.proxy.certificates import make_authority, server_context
from tests.proxy.conftest import Recording
from tests.proxy.loopback import Upstream

ANSWER = {"claude": claude_answer, "codex": codex_answer}
SET_UP = {"claude": claude_set_up, "codex": codex_set_up}
both_clients = pytest.mark.parametrize("client", ["claude", "codex"])


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a client, a home and a repository."""

    program: Path
    own: Own
    home: Path
    repository: Path
    environment: dict[str, str]

    def command(self, prompt: str, *, resume: bool = False) -> list[str]:
        return [str(self.program), *self.own.arguments(prompt, resume)]

    def ask(self, prompt: str, *, resume: bool = False) -> str:
        done = run_to_end(self.command(prompt, resume=resume), self.repository, self.environment)
        assert done.code == 0, done.err[-2000:]
        return done.out

    def ask_and_interrupt(self, prompt: str, stall: Stall) -> None:
        child = subprocess.Popen(
            self.command(prompt),
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            assert stall.begun.wait(RUN_LIMIT_S)
            child.send_signal(signal.SIGINT)
            child.wait(RUN_LIMIT_S)
        finally:
            child.kill()
            child.wait()
            kill_left(self.home)


@pytest.fixture
def provider() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


def person(
    client: str, programs: dict[str, Path], folder: Path, recording: Recording, gate_url: str, **environment: str
) -> Person:
    scenario = Scenario(client, "leaf")  # type: ignore[arg-type]
    home, repository = folder / "home", folder / "repository"
    home.mkdir()
    make_repository(repository, Planted(secrets.token_hex(6)))
    urls = {"anthropic": recording.recorder.anthropic_url, "openai": recording.recorder.openai_url}
    own = SET_UP[client](scenario, home, f"sk-{secrets.token_hex(20)}", urls)
    whole = empty_environment(home, gate_url) | own.environment | environment
    return Person(programs[client], own, home, repository, whole)


def turns(recording: Recording) -> list[Exchange]:
    return [exchange for exchange in recording.exchanges() if exchange.request.identity.purpose == "turn"]


@both_clients
def test_an_interrupted_answer_is_kept_as_far_as_it_came_and_the_session_goes_on(
    client: str, programs: dict[str, Path], provider: Upstream, tmp_path: Path
) -> None:
    answer = ANSWER[client]
    stall = Stall(answer("half an answer"))
    play(provider, stall, say(answer("a whole answer")))
    with closed_gate() as gate, heard(provider, tmp_path) as recording:
        one = person(client, programs, tmp_path, recording, gate.url)
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
    client: str, programs: dict[str, Path], provider: Upstream, tmp_path: Path
) -> None:
    play(provider, refuse(500), say(ANSWER[client]("at last")))
    with closed_gate() as gate, heard(provider, tmp_path) as recording:
        assert "at last" in person(client, programs, tmp_path, recording, gate.url).ask("Hello?")
        first, second = turns(recording)
    assert [one.response.status if one.response else None for one in (first, second)] == [500, 200]
    assert second.request.retry_of == first.request.exchange_id


def test_claude_code_speaks_through_the_forward_proxy(
    programs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/recording.md says: HTTPS_PROXY and NODE_EXTRA_CA_CERTS, and nothing else of ours in its settings."""
    authority = make_authority(tmp_path / "upstream-ca")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))  # the provider's certificate is trusted, as one is in life
    provider = Upstream(server_context(authority.parent))
    play(provider, say(claude_answer("through the tunnel")))
    forward = {"forward_port": 0, "forward_ca": tmp_path / "ca", "forward_hosts": ("localhost",)}
    with closed_gate() as gate, heard(provider, tmp_path, **forward) as recording:
        listening = recording.recorder.listening
        own = {
            "ANTHROPIC_BASE_URL": f"https://localhost:{provider.port}",
            "HTTPS_PROXY": listening.forward_url or "",
            "https_proxy": listening.forward_url or "",
            "NODE_EXTRA_CA_CERTS": str(tmp_path / "ca" / "agentreel-ca-cert.pem"),
            "NO_PROXY": "",
            "no_proxy": "",
        }
        said = person("claude", programs, tmp_path, recording, gate.url, **own).ask("Hello?")
        (turn,) = turns(recording)
    provider.close()
    assert "through the tunnel" in said
    assert (turn.request.mode, turn.end) == ("forward", "complete")
    assert turn.request.upstream == f"https://localhost:{provider.port}"
    assert turn.request.identity.harness == "claude-code"
    assert turn.request.identity.session_id

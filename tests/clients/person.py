"""Somebody with a client, a home and a repository, who asks for one thing at a time or sits at a terminal."""

from __future__ import annotations

import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.clients.programs import RUN_LIMIT_S, Finished, empty_environment, kill_left, run_to_end
from tests.clients.provider import Stall
from tests.clients.scenarios import Client, Line, Planted, Scenario, make_repository
from tests.clients.set_up import SET_UP, Own
from tests.clients.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Person:
    program: Path
    own: Own
    home: Path
    repository: Path
    environment: dict[str, str]

    def run(self, prompt: str, *, resume: bool = False) -> Finished:
        return run_to_end(self._command(prompt, resume=resume), self.repository, self.environment)

    def ask(self, prompt: str, *, resume: bool = False) -> str:
        done = self.run(prompt, resume=resume)
        assert done.code == 0, done.err[-2000:]
        return done.out

    def ask_and_interrupt(self, prompt: str, stall: Stall) -> None:
        child = subprocess.Popen(
            self._command(prompt),
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

    def talk(self, lines: Sequence[Line]) -> Finished:
        """At a terminal: each line is typed when the one before has had its effect."""
        with Terminal([str(self.program), *self.own.interactive], self.repository, self.environment) as terminal:
            terminal.wait_for(self.own.ready)
            for line in lines:
                terminal.type(line.text)
                terminal.wait_for(line.shows)
                if line.opens_view:
                    terminal.close_view()
            return terminal.leave(self.own.leave)

    def _command(self, prompt: str, *, resume: bool = False) -> list[str]:
        return [str(self.program), *self.own.arguments(prompt, resume)]


def someone(
    client: Client,
    programs: Mapping[str, Path],
    folder: Path,
    urls: Mapping[str, str],
    gate_url: str,
    **environment: str,
) -> Person:
    """With a home and a repository, both new, in `folder`."""
    home, repository = folder / "home", folder / "repository"
    home.mkdir()
    make_repository(repository, Planted(secrets.token_hex(6)))
    key = f"sk-{secrets.token_hex(20)}"
    return sit_down(Scenario(client, "leaf", environment=environment), programs, home, repository, key, urls, gate_url)


def sit_down(
    scenario: Scenario,
    programs: Mapping[str, Path],
    home: Path,
    repository: Path,
    key: str,
    urls: Mapping[str, str],
    gate_url: str,
) -> Person:
    """`urls`: base URL by provider. What the scenario says of the environment comes last."""
    own = SET_UP[scenario.client](scenario, home, repository, key, urls)
    environment = empty_environment(home, gate_url) | own.environment | scenario.environment
    return Person(programs[scenario.client], own, home, repository, environment)

"""One scenario through the whole chain, all by the command: a real client talks through `record` to the stand-in model,
and what was heard is built, linked, drawn and reported. Outputs land in one folder, to be searched.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agentreel.process import recording
from corpus.blocks import expand_blocks
from corpus.session import Session
from corpus.tables import read_corpus
from tests.clients.gate import closed_gate
from tests.clients.person import sit_down
from tests.clients.programs import Finished, kill_left
from tests.clients.scenarios import SCENARIOS, Line, Planted, Scenario, last_words, make_repository, prompt_for

COMMAND_LIMIT_S = 120


@dataclass(frozen=True, slots=True)
class Recorded:
    scenario: Scenario
    planted: Planted
    key: str
    folder: Path
    finished: list[Finished]  # one for each prompt
    refused: tuple[str, ...]  # where the client wanted to go, beside the recorder
    had_to_be_killed: tuple[int, ...]
    rows: list[dict[str, Any]]  # of `captures ls --json`
    built: dict[str, Any]  # of `build --json`
    graphs: list[dict[str, Any]]  # of `graph --json`
    shown: str  # by `show CORPUS 1`
    session: Session
    prompts: list[list[int]]  # per request its blocks

    @property
    def repository(self) -> Path:
        return self.folder / self.planted.folder

    @property
    def captures(self) -> Path:
        return self.folder / "captures"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs"

    def requests_of(self, agent: int) -> list[int]:
        return [request.request for request in self.session.requests if request.agent == agent]


def record(name: str, programs: dict[str, Path], folder: Path) -> Recorded:
    """Run scenario `name` in the empty `folder`."""
    scenario, planted = SCENARIOS[name], Planted(secrets.token_hex(6))
    key = f"{'sk-ant-' if scenario.client == 'claude' else 'sk-'}{secrets.token_hex(20)}"
    repository, home, logs, outputs = (folder / name for name in (planted.folder, "home", "logs", "outputs"))
    for new in (home, logs, outputs):
        new.mkdir()
    make_repository(repository, planted)
    with closed_gate() as gate, recording(folder / "captures", logs, websocket=scenario.websocket) as recorder:
        person = sit_down(scenario, programs, home, repository, key, recorder, gate.url)
        first = prompt_for(scenario, planted)
        if scenario.typed:
            finished = [person.talk((Line(first, last_words(scenario.script)), *scenario.typed))]
        else:
            finished = [person.run(prompt, resume=at > 0) for at, prompt in enumerate((first, *scenario.then))]
        killed = kill_left(home)
    corpus = outputs / "corpus"
    rows = [orjson.loads(line) for line in agentreel("captures", "ls", folder / "captures", "--json").splitlines()]
    built = orjson.loads(agentreel("build", folder / "captures", corpus, "--json"))
    graphs = agentreel("graph", corpus, "--json")
    shown = agentreel("show", corpus, "1")
    for file, text in {
        "graph.json": graphs,
        "show.txt": shown,
        "stats.json": agentreel("stats", corpus, "--json"),
    }.items():
        (outputs / file).write_text(text)
    agentreel("report", corpus, "-o", outputs / "report.html")
    agentreel("convert", corpus, outputs / "trace.json", "--to", "weka")
    (session,) = read_corpus(corpus)
    prompts = [blocks.tolist() for blocks in expand_blocks([request.blocks for request in session.requests])]
    done = orjson.loads(graphs)
    return Recorded(
        *(scenario, planted, key, folder, finished, tuple(gate.refused), tuple(killed)),
        *(rows, built, done, shown, session, prompts),
    )


def agentreel(*args: object) -> str:
    """A command's standard output; the test fails with its messages when it fails."""
    command = [sys.executable, "-m", "agentreel", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_LIMIT_S)
    assert done.returncode == 0, f"agentreel {args[0]}: exit code {done.returncode}\n{done.stderr}"
    return done.stdout

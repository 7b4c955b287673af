"""What the real clients are asked to do, and what must come of it; the model follows a script of standin/scripts.py."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from corpus.exchange import AgentKind, End, Purpose
from standin.scripts import SCRIPTS, Say, mark

Client = Literal["claude", "codex"]

_NAME = "client@example.test"  # git wants an author


def last_words(script: str) -> str:
    """What the script's last answer begins with."""
    action = SCRIPTS[script][-1].actions[-1]
    assert isinstance(action, Say)
    return action.text


@dataclass(frozen=True, slots=True)
class Line:
    """What a person types at a terminal, and what is drawn when it has had its effect."""

    text: str
    shows: str
    opens_view: bool = False  # which has to be closed before more can be typed


@dataclass(frozen=True, slots=True)
class Scenario:
    client: Client
    script: str
    parents: tuple[int | None, ...] = (None,)  # of the agents, numbered by their first request
    purposes: tuple[Purpose, ...] = ("turn",)  # that have to be heard, no others
    turns: dict[int, int] = field(default_factory=dict)  # agent -> its requests, where nothing can change them
    broken: dict[End, int] = field(default_factory=dict)  # exchanges that end otherwise than complete
    child_kind: AgentKind = "subagent"
    environment: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    then: tuple[str, ...] = ()  # prompts typed after resuming the session, each in a new process
    typed: tuple[Line, ...] = ()  # at a terminal, after the prompt; without any the client runs without a terminal
    websocket: bool = False  # whether the model's API accepts an upgrade


_LEAF = Line(f"And now the rest, please. {mark('leaf')}", last_words("leaf"))
_ASIDE = Line("/btw why these files?", "nothing is left to do.", opens_view=True)
TITLED = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": ""}  # a title is held to be one of the inessential things

SCENARIOS: dict[str, Scenario] = {
    "claude-loop": Scenario("claude", "rework", turns={0: 5}),
    "claude-parallel": Scenario("claude", "fan", (None, 0, 0)),
    "claude-nested": Scenario(
        *("claude", "nested", (None, 0, 1)),
        turns={0: 2, 1: 3, 2: 3},
        environment={"CLAUDE_CODE_GATEWAY_HINT_HEADERS": "1"},
    ),
    "claude-nested-background": Scenario("claude", "relay", (None, 0, 1, 1)),
    "claude-fork": Scenario("claude", "twin", (None, 0), turns={0: 3, 1: 3}),
    "claude-compaction": Scenario(
        *("claude", "loop", (None,), ("turn", "compaction")),
        turns={0: 6 + 1 + 3},
        then=("/compact", f"Now the rest. {mark('leaf')}"),
    ),
    "claude-faults": Scenario(*("claude", "bumpy"), turns={0: 4}, broken={"upstream_reset": 2, "sse_error": 1}),
    "claude-terminal": Scenario(
        *("claude", "loop", (None,), ("title", "turn", "side_question", "compaction")),
        turns={0: 6 + 1 + 3},
        environment=TITLED,
        typed=(_ASIDE, Line("/compact", "Compacted"), _LEAF),
    ),
    "codex-loop": Scenario("codex", "rework", purposes=("prewarm", "turn"), turns={0: 5}),
    "codex-team": Scenario("codex", "team", (None, 0, 0), ("prewarm", "turn")),
    "codex-fork": Scenario(
        *("codex", "twin-team", (None, 0), ("prewarm", "turn")), turns={0: 4, 1: 3}, child_kind="fork"
    ),
    "codex-nested": Scenario("codex", "deep", (None, 0, 1), ("prewarm", "turn"), turns={0: 3, 1: 3, 2: 3}),
    "codex-compaction": Scenario(
        *("codex", "flood", (None,), ("prewarm", "turn", "compaction")),
        turns={0: 5},
        # between a prompt with the flood of output (26 thousand by the stand-in's count) and one without (18 thousand)
        arguments=("-c", "model_auto_compact_token_limit=22000"),
    ),
    "codex-faults": Scenario(
        *("codex", "bumpy", (None,), ("prewarm", "turn")), turns={0: 4}, broken={"upstream_reset": 2, "sse_error": 1}
    ),
    "codex-terminal": Scenario(
        *("codex", "leaf", (None,), ("prewarm", "turn", "title", "compaction")),
        turns={0: 3 + 1 + 3},
        typed=(Line("/compact", "Context compacted"), _LEAF),
    ),
    "codex-websocket-terminal": Scenario(
        *("codex", "leaf", (None,), ("prewarm", "turn", "title", "memory")),
        turns={0: 3 + 3},
        arguments=("-c", "features.memories=true", "-c", "memories.min_rollout_idle_hours=0"),
        typed=(_LEAF,),
        websocket=True,
    ),
    "codex-websocket-team": Scenario("codex", "team", (None, 0, 0), ("prewarm", "turn"), websocket=True),
    "codex-websocket-compaction": Scenario(
        *("codex", "flood", (None,), ("prewarm", "turn", "compaction")),
        turns={0: 5},
        arguments=("-c", "model_auto_compact_token_limit=22000"),
        websocket=True,
    ),
    "codex-websocket-faults": Scenario(  # what is a status over HTTP is an error message here
        *("codex", "bumpy", (None,), ("prewarm", "turn")),
        turns={0: 4},
        broken={"upstream_reset": 2, "sse_error": 3},
        websocket=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Planted:
    """Words that stand where secrets would; `token` is new in every run."""

    token: str

    @property
    def prompt(self) -> str:
        return f"wombat-prompt-{self.token}"

    @property
    def content(self) -> str:
        return f"quokka-content-{self.token}"

    @property
    def file_name(self) -> str:
        return f"numbat-name-{self.token}"

    @property
    def folder(self) -> str:
        return f"potoroo-folder-{self.token}"

    @property
    def commit(self) -> str:
        return f"bandicoot-commit-{self.token}"

    @property
    def words(self) -> tuple[str, ...]:
        return (self.prompt, self.content, self.file_name, self.folder, self.commit)


def prompt_for(scenario: Scenario, planted: Planted) -> str:
    return f"Please look after the {planted.prompt} affair. {mark(scenario.script)}"


def make_repository(folder: Path, planted: Planted) -> None:
    """The working folder of a client: a git repository with what the scripts read, and planted words in everything."""
    (folder / "src").mkdir(parents=True)
    files = {
        "README.md": f"# Read me\n\n{planted.content}\n",
        "NOTES.md": f"state: open\nsubject: {planted.content}\n",
        "src/main.py": f'print("{planted.content}")\n',
        "src/store.py": "ITEMS: list[int] = []\n",
        f"{planted.file_name}.txt": "nothing\n",
        f"src/{planted.file_name}.txt": f"{planted.content}\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    for command in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("-c", "user.name=client", "-c", f"user.email={_NAME}", "commit", "-q", "-m", planted.commit),
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)


def ends_of(scenario: Scenario, exchanges: int) -> Counter[str]:
    broken = Counter({str(end): n for end, n in scenario.broken.items()})
    return broken + Counter(complete=exchanges - broken.total())

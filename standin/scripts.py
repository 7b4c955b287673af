"""The scripts the stand-in model plays: what it says and which tools it calls, step by step, for any provider.

A prompt that carries `[[script:NAME]]` starts NAME; each answer since that mark is one step; past the last step the
model says that it is done. Commands only look around (list, print), because real clients do run them; files are written
in the client's working directory. To add a script, add a row to SCRIPTS: nothing else knows their names.

A model that sums up a conversation leaves `[[script:NAME from step N]]` in its summary, and so goes on from there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MARK: Final = re.compile(r"\[\[script:([\w-]+)\]\]")
RESUME: Final = re.compile(r"\[\[script:([\w-]+) from step (\d+)\]\]")


@dataclass(frozen=True, slots=True)
class Think:
    chars: int


@dataclass(frozen=True, slots=True)
class Say:
    chars: int
    text: str = ""  # said first, literally


@dataclass(frozen=True, slots=True)
class Shell:
    command: str


@dataclass(frozen=True, slots=True)
class Read:
    path: str  # relative to the client's working directory


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    chars: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `old`, a whole line that stands once in the file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Spawn:
    """Start a sub-agent that plays `script`; `background` matters where the client has both kinds.

    `fork`: it begins with the conversation so far instead of an empty one.
    """

    name: str
    script: str
    background: bool = False
    fork: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for the next report of a sub-agent."""


@dataclass(frozen=True, slots=True)
class Retask:
    """Give a sub-agent that already reported another task."""

    name: str
    script: str


Action = Think | Say | Shell | Read | Write | Edit | Spawn | Wait | Retask


@dataclass(frozen=True, slots=True)
class Refuse:
    """An HTTP error instead of an answer."""

    status: int
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Drop the connection after so many events of the answer; 0: before the response's head."""

    after_events: int


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error event of this type in the middle of the stream."""

    kind: str


Fault = Refuse | Cut | StreamError


@dataclass(frozen=True, slots=True)
class Step:
    actions: tuple[Action, ...]
    delay_s: float = 0.0  # thought before the answer's first byte, beyond the pace
    faults: tuple[Fault, ...] = ()  # one is spent on each attempt at this step, then the step answers


def _step(*actions: Action, faults: tuple[Fault, ...] = ()) -> Step:
    return Step(actions, faults=faults)


SCRIPTS: Final[dict[str, tuple[Step, ...]]] = {
    "hello": (_step(Say(120, "Hello.")),),
    "loop": (
        _step(Think(320), Say(60), Read("README.md")),
        _step(Think(160), Shell("ls -la")),
        _step(Read("src/main.py"), Read("src/store.py")),
        _step(Think(500), Write("notes.txt", 700)),
        _step(Shell("git log --oneline | head -20")),
        _step(Think(120), Say(700, "The loop is finished.")),
    ),
    "rework": (
        _step(Think(200), Say(40, "First the notes."), Read("NOTES.md")),
        _step(Shell("ls -la . src && cat src/*.txt && git log --oneline")),
        _step(Think(120), Edit("NOTES.md", "state: open", "state: closed")),
        _step(Shell("git diff")),
        _step(Say(300, "The notes are reworked.")),
    ),
    "flood": (
        _step(Think(120), Shell("ls && cat README.md")),
        _step(Think(90), Shell("seq 1 6000")),  # enough output to fill a small context
        _step(Think(60), Shell("git status --short")),
        _step(Say(200, "The flood is over.")),
    ),
    "leaf": (
        _step(Think(180), Shell("ls")),
        _step(Read("README.md")),
        _step(Say(400, "The small task is done.")),
    ),
    "branch": (
        _step(Think(240), Shell("ls -la")),
        _step(Shell("git status --short")),
        _step(Think(90), Read("src/main.py")),
        _step(Say(500, "The longer task is done.")),
    ),
    "delegate": (
        _step(Think(200), Say(80), Spawn("look", "leaf")),
        _step(Shell("ls")),
        _step(Say(500, "The helper's answer is in.")),
    ),
    "fan": (
        _step(Think(300), Spawn("left", "leaf", background=True), Spawn("right", "branch", background=True)),
        _step(Say(120, "Both helpers are running.")),
        _step(Think(80), Say(160, "One helper is back.")),
        _step(Say(500, "Both helpers are back.")),
    ),
    "nested": (
        _step(Think(150), Spawn("outer", "middle")),
        _step(Say(400, "The nested work is complete.")),
    ),
    "middle": (
        _step(Shell("ls")),
        _step(Think(120), Spawn("inner", "leaf")),
        _step(Say(300, "The inner helper reported.")),
    ),
    "relay": (
        _step(Think(120), Spawn("outer", "relay-middle", background=True)),
        _step(Say(90, "The outer helper is running.")),
        _step(Say(300, "The outer helper is back.")),
    ),
    "relay-middle": (
        _step(Think(120), Spawn("inner-left", "leaf", background=True), Spawn("inner-right", "branch")),
        _step(Say(200, "The inner helpers reported.")),
    ),
    "twin": (
        _step(Think(90), Shell("ls")),
        _step(Think(120), Spawn("twin", "leaf", fork=True)),
        _step(Say(300, "The twin reported.")),
    ),
    "bumpy": (
        _step(Think(100), Shell("ls"), faults=(Refuse(429, retry_after_s=0), Refuse(529))),
        _step(Read("README.md"), faults=(Cut(4),)),
        _step(Shell("ls -la"), faults=(StreamError("overloaded_error"), Cut(0))),
        _step(Say(200, "All faults are behind us.")),
    ),
    "team": (
        _step(Think(260), Spawn("alpha", "leaf", background=True), Spawn("beta", "branch", background=True)),
        _step(Think(60), Wait()),
        _step(Wait()),
        _step(Think(120), Retask("alpha", "leaf-again")),
        _step(Wait()),
        _step(Say(500, "The team is finished.")),
    ),
    "deep": (
        _step(Think(120), Spawn("outer", "deep-middle", background=True)),
        _step(Wait()),
        _step(Say(300, "The deep work is complete.")),
    ),
    "twin-team": (
        _step(Think(90), Shell("ls")),
        _step(Think(120), Spawn("twin", "leaf", background=True, fork=True)),
        _step(Wait()),
        _step(Say(300, "The twin in the team reported.")),
    ),
    "deep-middle": (
        _step(Think(90), Spawn("inner", "leaf", background=True)),
        _step(Wait()),
        _step(Say(200, "The deepest helper reported.")),
    ),
    "leaf-again": (
        _step(Think(90), Shell("ls")),
        _step(Say(250, "The second task is done.")),
    ),
}


def mark(script: str) -> str:
    return f"[[script:{script}]]"


def resume_mark(script: str, step: int) -> str:
    return f"[[script:{script} from step {step}]]"

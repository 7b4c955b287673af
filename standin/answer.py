"""One answer of the stand-in model, before a provider's protocol is put around it.

`ground` turns a script's abstract actions into calls of the tools a client offers, by the DIALECT table; an action no
offered tool can do becomes a sentence. `Spawn` on Claude Code leaves `run_in_background` out for background agents,
because that is its default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from standin.prose import prose, source_code, title
from standin.scripts import Action, Edit, Read, Retask, Say, Shell, Spawn, Think, Wait, Write, mark


@dataclass(frozen=True, slots=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with JSON arguments; `namespace` is OpenAI's tool group."""

    name: str
    arguments: dict[str, Any]
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class FreeCall:
    """A call of a tool that takes plain text (OpenAI's custom tools)."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """The opaque summary item OpenAI answers a compaction with; `memo` is what only the model can read in it."""

    chars: int
    memo: str = ""


Block = Thought | Text | Call | FreeCall | Compaction


@dataclass(frozen=True, slots=True)
class Offer:
    """What the client can do: tool names with their namespace, and where it works."""

    namespaces: dict[str, str | None]
    cwd: str


def _exec(code: str) -> Block:
    return FreeCall("exec", f"const r = await {code};\ntext(r);")


def _command(command: str, offer: Offer) -> Block:
    return Call("exec_command", {"cmd": command}, offer.namespaces["exec_command"])


def _agent(spawn: Spawn) -> Block:
    arguments: dict[str, Any] = {
        "description": f"{spawn.name} helper",
        "prompt": f"Please do the {spawn.name} part and report back. {mark(spawn.script)}",
        "subagent_type": "fork" if spawn.fork else "general-purpose",
    }
    return Call("Agent", arguments if spawn.background else arguments | {"run_in_background": False})


def _task(spawn: Spawn, offer: Offer) -> Block:
    message = f"Please do the {spawn.name} part and report back. {mark(spawn.script)}"
    arguments = {"message": message, "task_name": spawn.name, "fork_turns": "all" if spawn.fork else "none"}
    return Call("spawn_agent", arguments, offer.namespaces["spawn_agent"])


def _retask(again: Retask, offer: Offer) -> Block:
    arguments = {"target": again.name, "message": f"One more thing. {mark(again.script)}"}
    return Call("followup_task", arguments, offer.namespaces["followup_task"])


def _patch(write: Write, text: str) -> str:
    lines = "\n".join(f"+{line}" for line in text.splitlines())
    return f"*** Begin Patch\n*** Add File: {write.path}\n{lines}\n*** End Patch"


def _update(edit: Edit) -> str:
    return f"*** Begin Patch\n*** Update File: {edit.path}\n@@\n-{edit.old}\n+{edit.new}\n*** End Patch"


def _edit(edit: Edit, offer: Offer) -> Block:
    return Call("Edit", {"file_path": f"{offer.cwd}/{edit.path}", "old_string": edit.old, "new_string": edit.new})


def _js(value: object) -> str:
    return orjson.dumps(value).decode()


# (action, tool it needs) -> call; the first row whose tool is offered is taken. The last argument is filler text.
_Build = Callable[[Any, Offer, str], Block]
DIALECT: Final[tuple[tuple[type, str, _Build], ...]] = (
    (Shell, "Bash", lambda a, _o, _t: Call("Bash", {"command": a.command, "description": "Look around"})),
    (Shell, "exec_command", lambda a, o, _t: _command(a.command, o)),
    (Shell, "exec", lambda a, _o, _t: _exec(f"tools.exec_command({{cmd: {_js(a.command)}}})")),
    (Read, "Read", lambda a, o, _t: Call("Read", {"file_path": f"{o.cwd}/{a.path}"})),
    (
        Read,
        "exec_command",
        lambda a, o, _t: Call("exec_command", {"cmd": f"cat {a.path}"}, o.namespaces["exec_command"]),
    ),
    (Read, "exec", lambda a, _o, _t: _exec(f"tools.exec_command({{cmd: {_js('cat ' + a.path)}}})")),
    (Write, "Write", lambda a, o, t: Call("Write", {"file_path": f"{o.cwd}/{a.path}", "content": t})),
    (Write, "apply_patch", lambda a, _o, t: FreeCall("apply_patch", _patch(a, t))),
    (Write, "exec", lambda a, _o, t: _exec(f"tools.apply_patch({_js(_patch(a, t))})")),
    (Edit, "Edit", lambda a, o, _t: _edit(a, o)),
    (Edit, "apply_patch", lambda a, _o, _t: FreeCall("apply_patch", _update(a))),
    (Edit, "exec", lambda a, _o, _t: _exec(f"tools.apply_patch({_js(_update(a))})")),
    (Spawn, "Agent", lambda a, _o, _t: _agent(a)),
    (Spawn, "spawn_agent", lambda a, o, _t: _task(a, o)),
    (Wait, "wait_agent", lambda _a, o, _t: Call("wait_agent", {"timeout_ms": 60_000}, o.namespaces["wait_agent"])),
    (Retask, "followup_task", lambda a, o, _t: _retask(a, o)),
)


def ground(actions: Sequence[Action], offer: Offer, *seed: object) -> tuple[Block, ...]:
    return tuple(_block(action, offer, *seed, number) for number, action in enumerate(actions))


def _block(action: Action, offer: Offer, *seed: object) -> Block:
    if isinstance(action, Think):
        return Thought(prose(action.chars, "think", *seed))
    if isinstance(action, Say):
        return Text(f"{action.text} {prose(action.chars, 'say', *seed)}".strip())
    text = source_code(action.chars, *seed) if isinstance(action, Write) else ""
    for kind, tool, build in DIALECT:
        if isinstance(action, kind) and tool in offer.namespaces:
            return build(action, offer, text)
    return Text(f"No tool for {type(action).__name__.lower()} is offered, so I go on without it.")


def fill_schema(schema: object, *seed: object) -> Any:
    """The smallest value a JSON schema describes, with a made-up title for its texts."""
    if not isinstance(schema, dict):
        return title(*seed)
    if isinstance(choices := schema.get("enum"), list) and choices:
        return choices[0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or "properties" in schema:
        return {name: fill_schema(inner, *seed, name) for name, inner in (schema.get("properties") or {}).items()}
    plain: dict[object, object] = {"array": [], "integer": 1, "number": 1, "boolean": False, "null": None}
    return plain[kind] if kind in plain else title(*seed)


def calls_tools(blocks: Sequence[Block]) -> bool:
    return any(isinstance(block, Call | FreeCall) for block in blocks)

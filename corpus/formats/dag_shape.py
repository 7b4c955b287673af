"""What a dag_jsonl file may hold, as tables, and the check against them and of what its conversations start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from corpus.errors import InputError
from corpus.formats.fields import (
    CORRECT,
    Field,
    Object,
    Problem,
    check_object,
    is_count,
    is_flag,
    is_list,
    is_milliseconds,
    is_object,
    is_size,
    is_text,
    is_texts,
    show,
)

WHOLE_PROMPTS: Final = "message_array_with_responses"
CONVERSATION: Final[Mapping[str, Field]] = {
    "session_id": Field(is_text, required=True),
    "turns": Field(is_list),
    "orchestrator": Field(is_flag),
    "pre_session_spawns": Field(is_texts),
    "context_mode": Field(is_text, null=True),
}
TURN: Final[Mapping[str, Field]] = {
    "messages": Field(is_list, required=True),
    "model": Field(is_text, null=True),
    "max_tokens": Field(is_size, null=True),
    "tools": Field(is_list, null=True),
    "extra": Field(is_object, null=True),
    "forks": Field(is_list),
    "spawns": Field(is_list),
    "delay": Field(is_milliseconds),
}


class Line(NamedTuple):
    where: str
    told: Object


class Branch(NamedTuple):
    child: str
    join_at: int | None  # turn of the parent
    fork: bool


def parse_conversations(values: Iterable[tuple[str, object]]) -> dict[str, Line]:
    """Checked conversations by name; InputError at the first flaw."""
    found: dict[str, Line] = {}
    for where, value in values:
        told = check_object(value, CONVERSATION, where)
        if told.get("orchestrator"):
            raise InputError(f"{where}: orchestrator", "conducts others and sends no request", "leave it out")
        if not told.get("turns"):
            raise InputError(f"{where}: turns", "holds no turn", CORRECT)
        for number, turn in enumerate(told["turns"]):
            _check_turn(turn, where, f"turns[{number}]")
        if told["session_id"] in found:
            raise InputError(f"{where}: session_id", f"{told['session_id']!r} is there twice", "give each its own")
        found[told["session_id"]] = Line(where, told)
    _check_branches(found)
    return found


def _check_turn(turn: object, where: str, place: str) -> None:
    checked = check_object(turn, TURN, where, place, kind="dag_jsonl")
    for number, message in enumerate(checked["messages"]):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise InputError(f"{where}: {place}.messages[{number}]", "is no message with a role", CORRECT)
    for key in ("spawns", "forks"):
        for number, entry in enumerate(checked.get(key, ())):
            flaw = _branch_flaw(entry, "children" if key == "spawns" else "child")
            if flaw is not None:
                raise InputError(f"{where}: {place}.{key}[{number}]{flaw[0]}", flaw[1], CORRECT)


def _branch_flaw(entry: object, key: str) -> Problem:
    if isinstance(entry, str):
        return None
    if not isinstance(entry, dict) or key not in entry:
        return "", f"must be a session_id or an object with {key}, is {show(entry)}"
    flaw = is_texts(entry[key]) if key == "children" else is_text(entry[key])
    if flaw is None and entry.get("join_at") is not None:
        flaw = is_count(entry["join_at"])
    return flaw


def branches(turn: Object, number: int) -> Iterator[Branch]:
    for entry in turn.get("spawns", ()):
        children = [entry] if isinstance(entry, str) else entry["children"]
        join = None if isinstance(entry, str) else entry.get("join_at")
        yield from (Branch(child, number + 1 if join is None else join, fork=False) for child in children)
    for entry in turn.get("forks", ()):
        yield Branch(entry if isinstance(entry, str) else entry["child"], None, fork=True)


def started(told: Object) -> Iterator[str]:
    """Names of the conversations that one starts."""
    yield from told.get("pre_session_spawns", ())
    yield from (branch.child for number, turn in enumerate(told["turns"]) for branch in branches(turn, number))


def _check_branches(found: Mapping[str, Line]) -> None:
    """Every child exists, has one parent, and none is its own ancestor."""
    parents: dict[str, str] = {}
    for name, (where, told) in found.items():
        for child in started(told):
            if child not in found:
                raise InputError(where, f"starts {child!r}, which is not there", "add that conversation")
            if child in parents:
                raise InputError(where, f"starts {child!r}, which {parents[child]!r} starts as well", CORRECT)
            parents[child] = name
    for name in found:
        seen, above = {name}, parents.get(name)
        while above is not None:
            if above in seen:
                raise InputError(found[name].where, f"{name!r} starts itself by way of its children", CORRECT)
            seen.add(above)
            above = parents.get(above)

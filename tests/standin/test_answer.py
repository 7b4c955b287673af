"""Abstract actions become calls of the tools a client offers."""

import pytest

from standin.answer import Call, FreeCall, Offer, Text, Thought, calls_tools, fill_schema, ground
from standin.scripts import Action, Edit, Read, Retask, Say, Shell, Spawn, Think, Wait, Write

CLAUDE = Offer(dict.fromkeys(("Bash", "Read", "Write", "Edit", "Agent")), "/w")
COLLAB: dict[str, str | None] = dict.fromkeys(("spawn_agent", "wait_agent", "followup_task"), "collab")
CODEX = Offer({"exec": "functions", **COLLAB}, "/w")
OLD_CODEX = Offer(dict.fromkeys(("exec_command", "apply_patch")), "/w")


@pytest.mark.parametrize(
    ("action", "offer", "tool"),
    [
        (Shell("ls"), CLAUDE, "Bash"),
        (Shell("ls"), CODEX, "exec"),
        (Shell("ls"), OLD_CODEX, "exec_command"),
        (Read("a"), CLAUDE, "Read"),
        (Read("a"), CODEX, "exec"),
        (Write("a", 10), CLAUDE, "Write"),
        (Write("a", 10), CODEX, "exec"),
        (Write("a", 10), OLD_CODEX, "apply_patch"),
        (Edit("a", "x", "y"), CLAUDE, "Edit"),
        (Edit("a", "x", "y"), CODEX, "exec"),
        (Edit("a", "x", "y"), OLD_CODEX, "apply_patch"),
        (Spawn("x", "leaf"), CLAUDE, "Agent"),
        (Spawn("x", "leaf"), CODEX, "spawn_agent"),
        (Wait(), CODEX, "wait_agent"),
        (Retask("x", "leaf"), CODEX, "followup_task"),
    ],
)
def test_the_offered_tool_is_called(action: Action, offer: Offer, tool: str) -> None:
    (block,) = ground([action], offer, "seed")
    assert isinstance(block, Call | FreeCall)
    assert block.name == tool


def test_an_action_nothing_offered_can_do_becomes_words() -> None:
    blocks = ground([Wait(), Spawn("x", "leaf")], OLD_CODEX, "seed")
    assert all(isinstance(block, Text) for block in blocks)
    assert not calls_tools(blocks)


def test_background_is_the_default_and_blocking_is_said() -> None:
    background, blocking = ground([Spawn("x", "leaf", background=True), Spawn("y", "leaf")], CLAUDE, "seed")
    assert isinstance(background, Call)
    assert isinstance(blocking, Call)
    assert "run_in_background" not in background.arguments
    assert blocking.arguments["run_in_background"] is False


def test_codex_calls_name_their_namespace() -> None:
    (call,) = ground([Wait()], CODEX, "seed")
    assert isinstance(call, Call)
    assert call.namespace == "collab"


def test_words_depend_on_the_seed() -> None:
    actions: list[Action] = [Think(50), Say(50, "Hello.")]
    one, same, other = (ground(actions, CLAUDE, seed) for seed in ("a", "a", "b"))
    assert one == same != other
    assert isinstance(one[0], Thought)


def test_a_schema_is_filled_with_values_of_its_types() -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "list": {"type": "array"},
            "n": {"type": ["integer", "null"]},
            "ok": {"type": "boolean"},
            "inner": {"properties": {"x": {"type": "number"}}},
        },
    }
    got = fill_schema(schema, "seed")
    assert got.pop("title")
    assert got == {"kind": "a", "list": [], "n": 1, "ok": False, "inner": {"x": 1}}

"""The table of scripts is sound."""

import pytest

from standin.scripts import MARK, SCRIPTS, Retask, Say, Spawn, mark


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_mark_selects_its_script_and_nothing_else(name: str) -> None:
    assert MARK.findall(f"do it {mark(name)} now") == [name]


def test_spawned_scripts_exist_and_no_script_spawns_itself() -> None:
    def reachable(name: str, seen: tuple[str, ...]) -> None:
        assert name in SCRIPTS
        assert name not in seen
        for step in SCRIPTS[name]:
            for action in step.actions:
                if isinstance(action, Spawn | Retask):
                    reachable(action.script, (*seen, name))

    for name in SCRIPTS:
        reachable(name, ())


def test_every_script_ends_with_words() -> None:
    assert all(isinstance(steps[-1].actions[-1], Say) for steps in SCRIPTS.values())

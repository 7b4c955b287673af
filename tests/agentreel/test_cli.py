from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentreel.cli import COMMANDS, cli

Call = Callable[..., Any]


def test_the_table_is_what_help_lists(agentreel: Call) -> None:
    said = agentreel("--help")
    assert said.code == 0
    for name, (_, help_line) in COMMANDS.items():
        assert f"  {name}" in said.out
        assert help_line in said.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(agentreel: Call, name: str) -> None:
    said = agentreel(name, "--help")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: agentreel {name}")


def test_an_unknown_command_is_wrong_usage(agentreel: Call) -> None:
    assert agentreel("frobnicate").code == 2


def test_help_imports_nothing_heavy() -> None:
    code = """
import sys
from agentreel.__main__ import main
try: main(["--help"])
except SystemExit: pass
print(sorted(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stdout.splitlines()[-1]))
    assert loaded.isdisjoint({"mitmproxy", "pyarrow", "aiohttp", "tokenizers", "datasets", "numpy"})


def test_docs_list_every_command_and_option() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, root / "docs" / "make_cli.py", "--check"], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert set(COMMANDS) == set(cli.list_commands(None))  # type: ignore[arg-type]  # the table needs no context

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest

from agentreel.process import run_command, serve_command
from corpus.errors import AgentreelError


def test_a_served_command_answers_until_it_is_left(tmp_path: Path) -> None:
    with serve_command(("standin", "model-api", "--json"), tmp_path / "log") as ready:
        with urllib.request.urlopen(ready["url"] + "/v1/models", timeout=30) as answer:
            assert answer.status == 200
        url = ready["url"]
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=5)


def test_a_command_that_does_not_start_says_why(tmp_path: Path) -> None:
    command = ("record", str(tmp_path / "captures"), "--openai-upstream", "nonsense", "--json")
    with pytest.raises(AgentreelError, match="did not start: error:"), serve_command(command, tmp_path / "log"):
        pass


def test_a_failed_command_stops_the_chain(tmp_path: Path) -> None:
    with pytest.raises(AgentreelError, match="`agentreel stats` failed with exit code 1"):
        run_command(("stats", str(tmp_path / "nothing")))

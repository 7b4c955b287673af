"""Make the samples anew: one scripted Claude Code session with two background sub-agents, through every stage.

Times differ from run to run because the HTTP is real; the structure does not. Golden tests read the committed files.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agentreel.process import recording, run_command, serve_command

HERE = Path(__file__).parent
MADE = ("captures", "corpus", "run", "weka.json", "graph.json")
SCENARIO = "claude-parallel"


def main() -> None:
    for name in MADE:
        path = HERE / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as logs:
        record(Path(logs))
        run_command(["build", str(HERE / "captures"), str(HERE / "corpus")])
        run_command(["convert", str(HERE / "corpus"), str(HERE / "weka.json"), "--to", "weka"])
        graph = subprocess.run(
            [sys.executable, "-m", "agentreel", "graph", str(HERE / "corpus"), "--json"],
            check=True,
            capture_output=True,
        )
        (HERE / "graph.json").write_bytes(graph.stdout)
        replay(Path(logs))


def record(logs: Path) -> None:
    with recording(HERE / "captures", logs) as recorder:
        run_command(
            (
                "standin",
                "agents",
                "--anthropic",
                recorder["anthropic"],
                "--openai",
                recorder["openai"],
                "--scenario",
                SCENARIO,
            )
        )


def replay(logs: Path) -> None:
    with serve_command(("standin", "engine", "--json"), logs / "engine.log") as engine:
        run_command(
            (
                *("replay", str(HERE / "corpus"), "--url", engine["url"], "--model", "standin"),
                *("--out", str(HERE / "run"), "--warmup", "none"),
            )
        )


if __name__ == "__main__":
    main()

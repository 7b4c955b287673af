"""The whole chain on this machine: stand-in agents talk through a real `record` to a stand-in model API; what was
heard is built, drawn, and replayed against a stand-in engine.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import click

from agentreel.console import note
from agentreel.process import recording, run_command, serve_command
from corpus.errors import InputError

_MARKER = "demo.txt"
_SPEEDUP = "4"  # recorded delays are divided by this, so that the demo stays short


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo-out"),
    show_default=True,
    help="Where to put everything.",
)
def demo(out: Path) -> None:
    """Run the whole chain with stand-ins: record, build, graph, replay, report. No network, no GPU, no keys."""
    started = time.monotonic()
    _prepare(out)
    logs = out / "logs"
    captures, corpus, run, page = (str(out / name) for name in ("captures", "corpus", "run", "report.html"))
    with recording(Path(captures), logs, websocket=True) as recorder:
        note(f"1. stand-in agents work through the recorder at {recorder['anthropic']} and {recorder['openai']}")
        _step("standin", "agents", "--anthropic", recorder["anthropic"], "--openai", recorder["openai"])
    note("2. what was recorded becomes a corpus of integers")
    _step("build", captures, corpus)
    _step("stats", corpus)
    note("3. who spawned whom, who waited for whom")
    _step("show", corpus)
    _step("show", corpus, "1")
    with serve_command(("standin", "engine", "--json"), logs / "engine.log") as engine:
        note("4. the same shape is sent to an inference server")
        _step(
            *("replay", corpus, "--url", engine["url"], "--model", "standin", "--out", run),
            *("--concurrency", "3", "--warmup", "none", "--speedup", _SPEEDUP, "--metrics-url", engine["url"]),
        )
    note("5. one page about all of it")
    _step("report", captures, corpus, run, "-o", page)
    note(f"done in {time.monotonic() - started:.0f} s; open the report:")
    print(Path(page).resolve())


def _prepare(out: Path) -> None:
    """An empty folder for the demo; an earlier demo's is replaced, anything else is left alone and refused."""
    if out.exists():
        if not (out / _MARKER).is_file():
            raise InputError(out, "exists and is not an earlier demo's folder", "choose another one with --out")
        shutil.rmtree(out)
    (out / "logs").mkdir(parents=True)
    (out / _MARKER).write_text("Made by `agentreel demo`; replaced when it runs again.\n")


def _step(*args: str) -> None:
    note("\n$ agentreel " + " ".join(args))
    run_command(args)

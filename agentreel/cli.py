"""The command line: one table of commands, each in its own module under `commands/`, imported only when it is run."""

from __future__ import annotations

import importlib
from typing import Final

import click

from agentreel import __version__

# name -> (module under agentreel.commands, what it does); the order is the order of the chain
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "record": ("record", "Record what agents and providers say to each other."),
    "captures": ("captures", "Look into recorded captures."),
    "build": ("build", "Turn captures into a corpus: integers only."),
    "audit": ("audit", "Prove that a corpus says nothing it should not."),
    "calibrate": ("calibrate", "Measure and fit token counts against the provider's."),
    "graph": ("graph", "Print who spawned whom and who waited for whom."),
    "stats": ("stats", "Print what is in a corpus or trace."),
    "show": ("show", "Draw sessions in the terminal."),
    "simulate": ("simulate", "Predict prefix-cache hits by cache size, tiers and routing."),
    "convert": ("convert", "Convert between the corpus and trace formats."),
    "replay": ("replay", "Send sessions to an inference server and measure."),
    "sweep": ("sweep", "Replay at several concurrencies: a Pareto table."),
    "report": ("report", "Write one HTML page about captures, corpora and runs."),
    "publish": ("publish", "Publish a corpus as a dataset on the hub."),
    "pull": ("pull", "Bring a dataset from the hub as a corpus."),
    "standin": ("standin", "Run a stand-in model API, inference engine or agents."),
    "demo": ("demo", "Run the whole chain with stand-ins."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for, so that `--help` and `--version` stay fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"agentreel.commands.{COMMANDS[cmd_name][0]}")
        command = getattr(module, cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__}.{cmd_name} is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's signature)
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="agentreel %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show a traceback when something fails.")
def cli() -> None:
    """Record coding agents, forget what they said, replay its shape.

    The chain: record -> build -> graph -> replay -> report. Try it: agentreel demo
    """

"""Write docs/cli.md from the commands' own `--help`; with `--check` only compare and fail when it is stale."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from agentreel.cli import cli

TARGET = Path(__file__).with_name("cli.md")
HEAD = "# The commands\n\nGenerated from `--help` by `make docs`; do not edit.\n"


def help_pages(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[str]:
    """Markdown of one command and everything below it."""
    context = click.Context(command, info_name=name, parent=parent, max_content_width=110, terminal_width=110)
    path = context.command_path
    yield f"\n## {path}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from help_pages(found, child, context)


def main() -> int:
    text = HEAD + "".join(help_pages(cli, "agentreel"))
    if "--check" not in sys.argv:
        TARGET.write_text(text)
        return 0
    if not TARGET.exists() or TARGET.read_text() != text:
        print("docs/cli.md is stale: run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

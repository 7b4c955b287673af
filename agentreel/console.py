"""What every command prints and where: results on stdout, JSON alone there with `--json`, everything else on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click
import orjson

if TYPE_CHECKING:  # every command starts here, and few draw or read captures
    from rich.console import Console

    from corpus.capture.reader import Captures

_PIPE_WIDTH = 120
LINE_EVERY_S: Final = 10.0  # of progress, without a terminal


def json_option[Command: Callable[..., Any]](command: Command) -> Command:
    """The option `--json`, passed on as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to stdout.")(command)


def force_option[Command: Callable[..., Any]](command: Command) -> Command:
    return click.option("--force", is_flag=True, help="Replace an existing output.")(command)


def print_json(value: object) -> None:
    """One JSON document, or one line of many, to stdout at once."""
    sys.stdout.write(orjson.dumps(value).decode() + "\n")
    sys.stdout.flush()


def note(message: str) -> None:
    """A message for the person, on stderr."""
    print(message, file=sys.stderr, flush=True)


def table_console() -> Console:
    """Where tables go: stdout, as wide as the terminal, or wide enough where none says how wide it is."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def counted[Item](what: str, items: Iterable[Item], total: int) -> Iterator[Item]:
    """The same items, told on stderr while they are taken: as a bar, or now and then in a line without a terminal."""
    with progress_of(what) as tell:
        for done, item in enumerate(items):
            tell(done, total)
            yield item


@contextmanager
def progress_of(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yields what is to be called with (done, all); a bar on stderr, now and then a line when that is no terminal."""
    if not sys.stderr.isatty():
        yield _told_in_lines(what)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _told_in_lines(what: str) -> Callable[[int, int], None]:
    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            note(f"{what}: {done:,} of {total:,}")

    return tell


def note_damage(captures: Captures) -> bool:
    """Say on stderr what could not be read of captures; whether there was anything."""
    for damage in captures.damage:
        note(f"damaged: {damage.file} at byte {damage.offset}: {damage.problem}")
    return bool(captures.damage)

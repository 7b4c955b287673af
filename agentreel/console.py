"""What every command prints and where: results on stdout, JSON alone there with `--json`, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click
import orjson

json_option: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout and nothing else there.")
force_option: Callable[[Any], Any] = click.option("--force", is_flag=True, help="Replace an existing output.")


def print_json(value: object) -> None:
    """One JSON document (or one line of many) to stdout."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode() + "\n")
    sys.stdout.flush()


def note(message: str) -> None:
    """A message for the person, on stderr."""
    print(message, file=sys.stderr, flush=True)

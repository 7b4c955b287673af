"""What `replay` and `sweep` have in common: the options that decide a run, and the settings made of them.

Options need a few tables and no more: the process that makes the content of prompts (`replay.content_ahead`) begins
when they are read, and what takes long to import comes after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import orjson

from corpus.errors import InputError
from corpus.session import Session
from corpus.tokenizer import DEFAULT_TOKENIZER
from replay.addressing import HINTS
from replay.endpoints import ENDPOINTS
from replay.engines import ENGINES

if TYPE_CHECKING:
    from replay.plan import DrawGraph
    from replay.settings import ReplaySettings

_OPTIONS: Final = (
    click.option(
        "--endpoint",
        type=click.Choice(list(ENDPOINTS)),
        default="completions",
        show_default=True,
        help="completions sends token ids; the others send text, as a conversation where the corpus knows who spoke.",
    ),
    click.option(
        "--tokenizer",
        default=DEFAULT_TOKENIZER,
        show_default=True,
        metavar="NAME_OR_FILE",
        help="The server's tokenizer.",
    ),
    click.option("--duration", "duration_s", default=3600.0, show_default=True, help="Seconds of profiling."),
    click.option("--seed", default=42, show_default=True, help="Same seed, same bytes."),
    click.option(
        "--warmup",
        type=click.Choice(["steady", "none"]),
        help="steady (the default for recordings): start inside the sessions and go on until the duration is over; "
        "none: play each session once.",
    ),
    click.option(
        "--sampling",
        type=click.Choice(["sequential", "shuffled", "random"]),
        default="sequential",
        show_default=True,
        help="Which session a lane takes next.",
    ),
    click.option("--compat", type=click.Choice(["agentx"]), help="Replay a recording as agentx-harness 1.0.12 does."),
    click.option("--open-loop", is_flag=True, help="Send by the time stamps, whatever the server does; no warm-up."),
    click.option("--requests", type=int, help="Profile so many requests at most."),
    click.option(
        "--grace",
        "grace_s",
        default=30.0,
        show_default=True,
        help="Seconds for answers in flight at the duration's end.",
    ),
    click.option(
        "--failures",
        "failure_share",
        default=0.1,
        show_default=True,
        help="Share of failed requests that stops the run, from 10 failures on; 1 never does.",
    ),
    click.option(
        "--idle-cap",
        "idle_cap_s",
        default=300.0,
        show_default=True,
        help="Longest delay in seconds that is kept, per stream; with --compat, longest idle time of a session.",
    ),
    click.option("--speedup", default=1.0, show_default=True, help="Divide the recorded delays by this."),
    click.option("--max-context", type=int, help="Drop single requests with more tokens, prompt and output together."),
    click.option(
        "--timeout",
        "request_timeout_s",
        default=1800.0,
        show_default=True,
        help="Seconds a request may take as a whole.",
    ),
    click.option("--workers", default=1, show_default=True, help="Processes that share the sessions in flight."),
    click.option(
        "--engine",
        type=click.Choice(list(ENGINES)),
        help="What the server is. [default: what its list of models says, else like vllm]",
    ),
    click.option(
        "--hints",
        metavar="NAMES",
        help="Tell the server or its router what the trace knows of the future: all, or some of "
        f"{', '.join(HINTS)} (docs/replaying.md).",
    ),
    click.option("--dp-ranks", default=0, help="Deal sessions out to so many data-parallel ranks of the engine."),
    click.option(
        "--metrics-url",
        "metrics_urls",
        multiple=True,
        metavar="URL",
        help="Scrape a server's or a power exporter's Prometheus metrics every second; can be given again.",
    ),
    click.option("--price", type=float, help="US$ an hour for one chip; how many there are says --label chips=N."),
    click.option("--label", "labels", multiple=True, metavar="K=V", help="Kept with the run; can be given again."),
    click.option(
        "--header", "headers", multiple=True, metavar="K=V", help="Sent with every request; can be given again."
    ),
    click.option("--extra-body", metavar="JSON", help="Merged into every request body."),
)


@dataclass(frozen=True, slots=True)
class Replay:
    """`sessions` are read as they are taken. `settings` lack nothing but place and concurrency, for a sweep."""

    sessions: Iterable[Session]
    settings: ReplaySettings
    draw: DrawGraph | None


def replay_options[Command: Callable[..., Any]](command: Command) -> Command:
    """All but --url, --model, --out and --concurrency."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def replay_of(src: str, out: Path, concurrency: int, given: dict[str, Any]) -> Replay:
    """`given`: the options by name, --url and --model included."""
    from agentreel.source import read_source
    from replay.fixed import PREFIX, fixed_session
    from replay.settings import ReplaySettings

    compat, warmup = given.pop("compat"), given.pop("warmup")
    fixed = src.startswith(PREFIX)
    given |= {
        "labels": _pairs("--label", given["labels"]),
        "headers": _pairs("--header", given["headers"]),
        "extra_body": _object(given["extra_body"]),
        "hints": _hints(given["hints"]),
        "metrics_urls": tuple(given["metrics_urls"]),
    }
    settings = ReplaySettings(
        out=out,
        concurrency=concurrency,
        warmup=warmup or ("none" if fixed or given["open_loop"] else "steady"),
        method=compat or "published",
        repeats=fixed,
        **given,
    )
    sessions = [fixed_session(src)] if fixed else read_source(src)
    return Replay(sessions, settings, _graph_of_harness() if compat else None)


def _graph_of_harness() -> DrawGraph:
    from agentreel.agentx import agentx_graph

    return agentx_graph


def _hints(text: str | None) -> frozenset[str]:
    if text is None:
        return frozenset()
    return frozenset(HINTS if text == "all" else text.split(","))


def _pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(option, f"{text!r} is not of the form KEY=VALUE")
        pairs[key] = value
    return pairs


def _object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError("--extra-body", f"is broken JSON ({error})") from error
    if not isinstance(found, dict):
        raise InputError("--extra-body", "is no JSON object")
    return found

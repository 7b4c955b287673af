from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import orjson

from agentreel.console import force_option, json_option, note, print_json
from agentreel.source import read_source
from corpus.errors import InputError
from corpus.fingerprint import fingerprint_sessions
from corpus.tokenizer import DEFAULT_TOKENIZER
from replay.run import run_replay
from replay.settings import Progress, ReplaySettings

_LINE_EVERY_S = 10.0  # without a terminal


@click.command()
@click.argument("src")
@click.option("--url", required=True, help="The server's base URL, for example http://127.0.0.1:8000")
@click.option("--model", required=True, help="The model name the server knows.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Directory of the run.")
@click.option(
    "--endpoint",
    type=click.Choice(["completions", "chat"]),
    default="completions",
    show_default=True,
    help="completions sends token ids, chat sends text.",
)
@click.option(
    "--tokenizer", default=DEFAULT_TOKENIZER, show_default=True, metavar="NAME_OR_FILE", help="The server's tokenizer."
)
@click.option("--concurrency", default=1, show_default=True, help="Live sessions; their sub-agents come on top.")
@click.option("--duration", "duration_s", default=3600.0, show_default=True, help="Seconds of profiling.")
@click.option("--seed", default=42, show_default=True, help="Same seed, same bytes.")
@click.option(
    "--warmup",
    type=click.Choice(["steady", "none"]),
    default="steady",
    show_default=True,
    help="steady: start inside the sessions and go on until the duration is over; none: play each session once.",
)
@click.option(
    "--idle-cap", "idle_cap_s", default=300.0, show_default=True, help="Longest delay in seconds that is kept."
)
@click.option("--speedup", default=1.0, show_default=True, help="Divide the recorded delays by this.")
@click.option("--max-context", type=int, help="Drop single requests with more tokens, prompt and output together.")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="Kept with the run; can be given again.")
@click.option("--header", "headers", multiple=True, metavar="K=V", help="Sent with every request; can be given again.")
@click.option("--extra-body", metavar="JSON", help="Merged into every request body.")
@force_option
@json_option
def replay(
    src: str, *, as_json: bool, labels: tuple[str, ...], headers: tuple[str, ...], extra_body: str | None, **given: Any
) -> int:
    """Send the sessions of SRC to an inference server, keeping their order, delays and prefix reuse, and measure."""
    sessions = list(read_source(src))
    settings = ReplaySettings(
        labels=_pairs("--label", labels),
        headers=_pairs("--header", headers),
        extra_body=_object(extra_body),
        fingerprint=fingerprint_sessions(sessions),
        **given,
    )
    summary = run_replay(sessions, settings, _live() if sys.stderr.isatty() else _lines())
    if as_json:
        print_json(summary)
    else:
        _say(settings.out, summary)
    return 3 if summary["errors"] else 0


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


def _describe(progress: Progress) -> str:
    return (
        f"{progress.phase} {progress.elapsed_s:5.0f} s: {progress.ended} of {progress.sent} sent requests ended, "
        f"{progress.in_flight} in flight, {progress.errors} errors, {progress.sessions_completed} sessions completed"
    )


def _live() -> Callable[[Progress], None]:
    """One line on the terminal that is written over."""

    def show(progress: Progress) -> None:
        sys.stderr.write("\r\x1b[2K" + _describe(progress))
        sys.stderr.flush()

    return show


def _lines() -> Callable[[Progress], None]:
    """Now and then a line, for logs."""
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY_S:
            last = time.monotonic()
            note(_describe(progress))

    return show


_SHOWN = (
    ("time to first token", "ttft_s", "s", "lower is better"),
    ("time per output token", "tpot_s", "s", "lower is better"),
    ("interactivity", "interactivity_tps", "tok/s", "higher is better"),
    ("lateness", "lateness_ms", "ms", "sent after due"),
    ("token error", "token_error", "tokens", "server-counted minus planned"),
    ("session slowdown", "session_slowdown", "x", "replayed over recorded time"),
)


def _say(out: Path, summary: dict[str, Any]) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")
    print(f"{out}: {summary['requests']} requests, {summary['errors']} errors, {_number(summary['duration_s'])} s")
    for title, key, unit, meaning in _SHOWN:
        values = ", ".join(f"{name} {_number(value)}" for name, value in summary[key].items())
        print(f"  {title:<24}{values} {unit} ({meaning})")
    print(
        f"  {'cache hits':<24}{_share(summary['cache_hit_rate'])} of prompt tokens, "
        f"{_share(summary['predicted_hit_rate'])} with an infinite cache"
    )
    print(f"  {'edges violated':<24}{summary['edge_violations']} of {summary['edges']}")
    dropped = sum(summary["dropped_requests"].values())
    print(f"  {'dropped before sending':<24}{dropped} requests ({_share(summary['dropped_share'])})")
    print(f"  {'corpus':<24}{summary['corpus_fingerprint']}")
    for name, count in summary["warnings"].items():
        if count:
            print(f"  warning: {count} requests with {name.replace('_', ' ')}")
    for name, count in summary["errors_by_class"].items():
        print(f"  error: {count} {name}")


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import orjson

from agentreel.agentx import agentx_graph
from agentreel.console import force_option, json_option, print_json
from agentreel.following import following
from agentreel.preview import print_preview
from agentreel.source import read_source
from corpus.errors import InputError
from corpus.fingerprint import fingerprint_sessions
from corpus.tokenizer import DEFAULT_TOKENIZER
from replay.commands import Warmup
from replay.fixed import PREFIX as FIXED_PREFIX
from replay.fixed import fixed_session
from replay.method import MethodName
from replay.preview import preview
from replay.run import run_replay
from replay.settings import ReplaySettings


@click.command()
@click.argument("src")
@click.option("--url", help="The server's base URL, for example http://127.0.0.1:8000")
@click.option("--model", help="The model name the server knows.")
@click.option("--out", type=click.Path(path_type=Path), help="Directory of the run.")
@click.option("--dry-run", is_flag=True, help="Tell what would be sent, without a server.")
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
    help="steady (the default for recordings): start inside the sessions and go on until the duration is over; none: "
    "play each session once.",
)
@click.option(
    "--sampling",
    type=click.Choice(["sequential", "shuffled", "random"]),
    default="sequential",
    show_default=True,
    help="Which session a lane takes next.",
)
@click.option("--compat", type=click.Choice(["agentx"]), help="Replay a recording as agentx-harness 1.0.12 does.")
@click.option("--open-loop", is_flag=True, help="Send by the time stamps, whatever the server does; no warm-up.")
@click.option("--requests", type=int, help="Profile so many requests at most.")
@click.option(
    "--grace", "grace_s", default=30.0, show_default=True, help="Seconds for answers in flight at the duration's end."
)
@click.option(
    "--failures",
    "failure_share",
    default=0.1,
    show_default=True,
    help="Share of failed requests that stops the run, from 10 failures on; 1 never does.",
)
@click.option(
    "--idle-cap",
    "idle_cap_s",
    default=300.0,
    show_default=True,
    help="Longest delay in seconds that is kept, per stream; with --compat, longest idle time of a session.",
)
@click.option("--speedup", default=1.0, show_default=True, help="Divide the recorded delays by this.")
@click.option("--max-context", type=int, help="Drop single requests with more tokens, prompt and output together.")
@click.option(
    "--timeout", "request_timeout_s", default=1800.0, show_default=True, help="Seconds a request may take as a whole."
)
@click.option("--workers", default=1, show_default=True, help="Processes that share the sessions in flight.")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="Kept with the run; can be given again.")
@click.option("--header", "headers", multiple=True, metavar="K=V", help="Sent with every request; can be given again.")
@click.option("--extra-body", metavar="JSON", help="Merged into every request body.")
@force_option
@json_option
def replay(
    src: str,
    *,
    as_json: bool,
    labels: tuple[str, ...],
    headers: tuple[str, ...],
    extra_body: str | None,
    dry_run: bool,
    warmup: Warmup | None,
    compat: MethodName | None,
    **given: Any,
) -> int:
    """Send the sessions of SRC to an inference server, keeping their order, delays and prefix reuse, and measure.

    SRC may also be fixed:ISL,OSL: single requests of that many tokens, without end.
    """
    given |= _addressed(dry_run, given)
    fixed = src.startswith(FIXED_PREFIX)
    sessions = [fixed_session(src)] if fixed else list(read_source(src))
    settings = ReplaySettings(
        labels=_pairs("--label", labels),
        headers=_pairs("--header", headers),
        extra_body=_object(extra_body),
        fingerprint=fingerprint_sessions(sessions),
        warmup=warmup or ("none" if fixed or given["open_loop"] else "steady"),
        method=compat or "published",
        repeats=fixed,
        **given,
    )
    draw = agentx_graph if compat else None
    if dry_run:
        found = preview(sessions, settings, draw)
        print_json(found) if as_json else print_preview(found)
        return 0
    with following() as progress:
        summary = run_replay(sessions, settings, progress, draw)
    if as_json:
        print_json(summary)
    else:
        _say(settings.out, summary)
    return 3 if summary["errors"] or summary["problem"] else 0


def _addressed(dry_run: bool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Where to and what for; a dry run sends nothing, so it needs neither."""
    names = {"url": "http://127.0.0.1", "model": "model", "out": Path("run")}
    missing = [f"--{name}" for name in names if given[name] is None]
    if missing and not dry_run:
        raise click.UsageError(f"Missing option {' and '.join(missing)}.")
    return {name: value if given[name] is None else given[name] for name, value in names.items()}


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


_SHOWN = (
    ("time to first token", "ttft_s", "s", "lower is better"),
    ("time per output token", "tpot_s", "s", "lower is better"),
    ("interactivity", "interactivity_tps", "tok/s", "higher is better"),
    ("lateness", "lateness_ms", "ms", "sent after due"),
    ("token error", "token_error", "tokens", "server-counted minus planned"),
    ("session slowdown", "session_slowdown", "x", "replayed over recorded time"),
)


def _say(out: Path, summary: dict[str, Any]) -> None:
    print(f"{out}: {summary['requests']} requests, {summary['errors']} errors, {_number(summary['duration_s'])} s")
    if summary["problem"]:
        print(f"  stopped early: {summary['problem']}")
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

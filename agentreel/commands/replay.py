from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from agentreel.console import force_option, json_option, print_json
from agentreel.places import local_output
from agentreel.replaying import replay_of, replay_options
from corpus.run import SUMMARY_NAME
from replay.content_ahead import pool_ahead
from replay.engines import ENGINES, EngineName


@click.command()
@click.argument("src")
@click.option("--url", help="The server's base URL, for example http://127.0.0.1:8000")
@click.option("--model", help="The model name the server knows.")
@click.option("--out", help="Directory of the run; also a URL (s3://, gs://).")
@click.option("--dry-run", is_flag=True, help="Tell what would be sent, without a server.")
@click.option("--concurrency", default=1, show_default=True, help="Live sessions; their sub-agents come on top.")
@replay_options
@force_option
@json_option
def replay(src: str, *, as_json: bool, dry_run: bool, out: str | None, concurrency: int, **given: Any) -> int:
    """Send the sessions of SRC to an inference server, keeping their order, delays and prefix reuse, and measure.

    SRC may also be fixed:ISL,OSL: single requests of that many tokens, without end.
    """
    given |= _addressed(dry_run, {**given, "out": out})
    place = given.pop("out")
    if dry_run:
        _preview(src, Path(place), concurrency, given, as_json=as_json)
        return 0
    with local_output(place, SUMMARY_NAME, force=given["force"]) as target:
        summary = _run(src, target, concurrency, given)
    if as_json:
        print_json(summary)
    else:
        _say(place, summary)
    return 3 if summary["errors"] or summary["problem"] or summary["interrupted"] else 0


def _run(src: str, out: Path, concurrency: int, given: dict[str, Any]) -> dict[str, Any]:
    with pool_ahead(given["tokenizer"]) as pool:
        from agentreel.following import following
        from replay.run import run_replay

        made = replay_of(src, out, concurrency, given)
        with following() as progress:
            return run_replay(made.sessions, made.settings, progress, made.draw, pool)


def _preview(src: str, out: Path, concurrency: int, given: dict[str, Any], *, as_json: bool) -> None:
    with pool_ahead(given["tokenizer"]) as pool:
        from agentreel.preview import print_preview
        from replay.preview import preview

        made = replay_of(src, out, concurrency, given)
        found = preview(list(made.sessions), made.settings, made.draw, pool)
    print_json(found) if as_json else print_preview(found)


def _addressed(dry_run: bool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Where to and what for; a dry run sends nothing, so it needs neither."""
    names = {"url": "http://127.0.0.1", "model": "model", "out": "run"}
    missing = [f"--{name}" for name in names if given[name] is None]
    if missing and not dry_run:
        raise click.UsageError(f"Missing option {' and '.join(missing)}.")
    return {name: value if given[name] is None else given[name] for name, value in names.items()}


_SHOWN = (
    ("time to first token", "ttft_s", "s", "lower is better"),
    ("time per output token", "tpot_s", "s", "lower is better"),
    ("interactivity", "interactivity_tps", "tok/s", "higher is better"),
    ("lateness", "lateness_ms", "ms", "sent after due"),
    ("token error", "token_error", "tokens", "server-counted minus planned"),
    ("session slowdown", "session_slowdown", "x", "replayed over recorded time"),
    ("task time", "task_time_s", "s", "first request to last answer"),
)


def _say(out: str, summary: dict[str, Any]) -> None:
    counts = f"{summary['requests']} requests, {summary['errors']} errors, {_number(summary['duration_s'])} s"
    print(f"{out}: {counts} ({ENGINES[summary['engine']].title})")
    if summary["problem"]:
        print(f"  stopped early: {summary['problem']}")
    if summary["interrupted"]:
        print("  interrupted: what was measured until then is kept")
    if summary["unfinished"]:
        print(f"  cut: {_requests(summary['unfinished'])} in flight at the end")
    for title, key, unit, meaning in _SHOWN:
        known = [f"{name} {_number(value)}" for name, value in summary[key].items() if value is not None]
        print(f"  {title:<24}" + (f"{', '.join(known)} {unit} ({meaning})" if known else "unknown"))
    print(
        f"  {'cache hits':<24}{_share(summary['cache_hit_rate'])} of prompt tokens, "
        f"{_share(summary['predicted_hit_rate'])} with an infinite cache"
    )
    _say_path(summary["critical_path_shares"])
    _say_economy(summary)
    if summary["server"]:
        _say_server(summary["server"])
    print(f"  {'edges violated':<24}{summary['edge_violations']} of {summary['edges']}")
    dropped = sum(summary["dropped_requests"].values())
    print(f"  {'dropped before sending':<24}{_requests(dropped)} ({_share(summary['dropped_share'])})")
    if gone := summary["dropped_sessions"]:
        print(f"  {'sessions dropped':<24}{len(gone)}: {', '.join(gone)}")
    print(f"  {'corpus':<24}{summary['corpus_fingerprint']}")
    for name, count in summary["warnings"].items():
        if count:
            print(f"  warning: {_requests(count)} with {name.replace('_', ' ')}{_cure(name, summary['engine'])}")
    for name, count in summary["errors_by_class"].items():
        print(f"  error: {count} {name}")


def _cure(warning: str, engine: EngineName) -> str:
    needs = ENGINES[engine].cached_needs
    return f" ({ENGINES[engine].title} tells them with {needs})" if warning == "no_cached_tokens" and needs else ""


def _say_path(shares: dict[str, float | None]) -> None:
    """Time to the first token as one, unless the server told how long requests waited in its queue."""
    first = ("queue", "prefill") if shares["queue"] is not None else ("first_token",)
    told = [(name, shares[name]) for name in ("tools", *first, "decode", "client") if shares[name] is not None]
    if told:
        print(f"  {'critical paths':<24}" + ", ".join(f"{name.replace('_', ' ')} {_share(v)}" for name, v in told))


def _say_economy(summary: dict[str, Any]) -> None:
    if summary["chips"] != 1:
        each = _number(summary["throughput_tps_per_chip"])
        print(f"  {'throughput per chip':<24}{each} tok/s on each of {summary['chips']}")
    if summary["usd_per_million_tokens"] is not None:
        total, output = summary["usd_per_million_tokens"], summary["usd_per_million_output_tokens"]
        print(f"  {'cost':<24}{_number(total)} US$ a million tokens, {_number(output)} a million output tokens")
    if summary["energy_j"] is not None:
        spent, each = summary["energy_j"], summary["joules_per_output_token"]
        print(f"  {'energy':<24}{_number(spent)} J, {_number(each)} J an output token")


def _say_server(server: dict[str, Any]) -> None:
    profile = server["profile"]
    ratios = (("hbm_hit_rate", "HBM hits"), ("dram_hit_rate", "DRAM hits"), ("spec_acceptance", "drafts accepted"))
    told = [f"{title} {_share(profile[name])}" for name, title in ratios if name in profile]
    gauges = (("kv_used_share", "KV cache used"), ("running", "running"), ("waiting", "waiting"))
    told += [
        f"{title} {_number(profile[name]['mean'])} (most {_number(profile[name]['max'])})"
        for name, title in gauges
        if name in profile
    ]
    if told:
        print(f"  {'server':<24}{', '.join(told)}")
    for label, source in server["sources"].items():
        if source["failures"]:
            failed = f"{source['failures']} of {source['scrapes']} scrapes failed"
            print(f"  warning: {label}: {failed} ({source['problem']})")


def _number(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _requests(count: int) -> str:
    return f"{count} request{'' if count == 1 else 's'}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.status import Status

from agentreel.console import json_option, note, print_json
from proxy.recorder import Listening, RecordSettings, RecordTotals, Snapshot, run_recorder
from proxy.status import size

_DEFAULT = RecordSettings(Path())
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("captures", type=click.Path(path_type=Path))
@click.option("--host", default=_DEFAULT.host, show_default=True, help="Address to listen on.")
@click.option("--anthropic-port", default=_DEFAULT.anthropic_port, show_default=True, help="0: any free port.")
@click.option("--openai-port", default=_DEFAULT.openai_port, show_default=True, help="0: any free port.")
@click.option("--anthropic-upstream", metavar="URL", default=_DEFAULT.anthropic_upstream, show_default=True)
@click.option("--openai-upstream", metavar="URL", default=_DEFAULT.openai_upstream, show_default=True)
@click.option(
    "--chatgpt-upstream",
    metavar="URL",
    default=_DEFAULT.chatgpt_upstream,
    show_default=True,
    help="For Codex with a ChatGPT login.",
)
@click.option("--workers", default=1, show_default=True, help="Processes on the same ports; one carries 150 streams.")
@click.option(
    "--fsync",
    type=click.Choice(["interval", "always", "never"]),
    default=_DEFAULT.fsync,
    show_default=True,
    help="Force what was heard to the disk once a second, after every record, or when the system likes.",
)
@click.option("--status-port", type=int, metavar="N", help="Status page and Prometheus /metrics, on loopback.")
@click.option(
    "--token-file",
    type=_FILE,
    help="Let in only who sends a token of this file (lines `name: token`) in the header x-agentreel-token or as"
    " /t/<token> in front of the path.",
)
@click.option("--tls-cert", type=_FILE, help="Certificate (PEM) for clients; needed with another --host.")
@click.option("--tls-key", type=_FILE, help="Its private key.")
@click.option(
    "--insecure-bind",
    is_flag=True,
    help="Listen on another --host without tokens and TLS: everyone there can read along.",
)
@click.option(
    "--allow-host", "allow_hosts", multiple=True, metavar="NAME", help="A name that clients use for this machine."
)
@click.option(
    "--forward-port",
    type=int,
    metavar="N",
    help="Also a forward proxy (HTTPS_PROXY) on loopback, with a certificate authority of its own.",
)
@click.option(
    "--forward-host",
    "forward_hosts",
    multiple=True,
    metavar="NAME",
    help="A further host that the forward proxy opens and records; others are tunnelled unseen.",
)
@click.option(
    "--forward-ca",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where its authority is kept.  [default: ~/.agentreel/forward-ca]",
)
@json_option
def record(as_json: bool, **given: Any) -> None:
    """Record what agents and providers say to each other into CAPTURES, until Ctrl-C or SIGTERM.

    Listens on loopback, passes every byte on unchanged. With --json the first line says where it listens. A request
    with the header `x-agentreel-record: off` is passed on unrecorded; SIGUSR1 pauses recording, SIGUSR2 resumes it.
    """
    settings = RecordSettings(**given)

    def on_ready(listening: Listening) -> None:
        if as_json:
            print_json({"event": "ready", **ready_line(listening)})
        else:
            _greet(settings, listening)

    with _status_line(shown=not as_json) as status:
        totals = run_recorder(settings, on_ready, _ticker(status))
    if as_json:
        print_json({"event": "stopped", **asdict(totals)})
    else:
        note(_farewell(settings, totals))


def ready_line(listening: Listening) -> dict[str, str | None]:
    return {
        "anthropic": listening.anthropic_url,
        "openai": listening.openai_url,
        "status": listening.status_url,
        "forward": listening.forward_url,
    }


def _status_line(*, shown: bool) -> Status | nullcontext[None]:
    console = Console(stderr=True)
    return console.status("recording", spinner="dots") if shown and console.is_terminal else nullcontext()


def _ticker(status: Status | None) -> Callable[[Snapshot], None]:
    def tick(snapshot: Snapshot) -> None:
        if status is not None:
            status.update(status_words(snapshot))

    return tick


def status_words(snapshot: Snapshot) -> str:
    """One line about a running recorder, in rich's markup."""
    counts = snapshot.counts
    heard = size(counts.get("request_bytes", 0) + counts.get("response_bytes", 0))
    words = [
        "[bold red]paused[/]" if snapshot.paused else "recording",
        f"{sum(session.session_id is not None for session in snapshot.sessions)} sessions",
        f"{counts.get('requests', 0)} requests",
        f"{snapshot.open} in flight",
        heard,
    ]
    lost = sum(counts.get(key, 0) for key in ("dropped", "write_errors", "listen_errors"))
    if lost:
        words.append(f"[red]{lost} not recorded in full[/]")
    return " · ".join(words)


def _greet(settings: RecordSettings, listening: Listening) -> None:
    print(f"recording into {settings.captures}: prompts, answers and tool results, but no keys, cookies or tokens")
    print(f"  Anthropic requests go to {settings.anthropic_upstream}")
    print(f"  OpenAI requests go to {settings.openai_upstream}, with a ChatGPT login to {settings.chatgpt_upstream}")
    token = "/t/<token>" if settings.token_file else ""
    print(
        "\nClaude Code, in the shell you start it from (the second line is optional, it tells what requests are for):"
    )
    print(f"  export ANTHROPIC_BASE_URL={listening.anthropic_url}{token}")
    print("  export CLAUDE_CODE_GATEWAY_HINT_HEADERS=1")
    print("\nCodex, at the top of ~/.codex/config.toml:")
    print(f'  openai_base_url = "{listening.openai_url.removesuffix("/v1")}{token}/v1"')
    if listening.forward_url:
        authority = settings.forward_ca or "~/.agentreel/forward-ca"
        print("\nAny agent, as a forward proxy (its certificate authority must be trusted by the agent alone):")
        print(f"  export HTTPS_PROXY={listening.forward_url}")
        print(f"  export NODE_EXTRA_CA_CERTS={authority}/agentreel-ca-cert.pem")
    if listening.status_url:
        print(f"\nStatus page: {listening.status_url}  metrics: {listening.status_url}/metrics")
    print("\nCtrl-C stops: streams in flight get time to end, and everything is written.", flush=True)


def _farewell(settings: RecordSettings, totals: RecordTotals) -> str:
    ends = ", ".join(f"{n} {end}" for end, n in sorted(totals.ends.items())) or "nothing"
    lost = totals.dropped + totals.write_errors + totals.listen_errors
    warning = f"; {lost} could not be recorded in full" if lost else ""
    passed = totals.gaps.get("paused", 0) + totals.gaps.get("opted_out", 0)
    unnamed = f"; {totals.unnamed} kept as heard, without whose they are" if totals.unnamed else ""
    unheard = f"; {passed} passed unrecorded as asked" if passed else ""
    refused = f"; {sum(totals.refused.values())} refused" if totals.refused else ""
    return f"\n{settings.captures}: {totals.requests} requests heard ({ends}){warning}{unnamed}{unheard}{refused}"

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from agentreel.console import json_option, note, print_json
from proxy.recorder import Listening, RecordSettings, RecordTotals, run_recorder

_DEFAULT = RecordSettings(Path())


@click.command()
@click.argument("captures", type=click.Path(path_type=Path))
@click.option("--host", default=_DEFAULT.host, show_default=True, help="Address to listen on; loopback only.")
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
@click.option(
    "--fsync",
    type=click.Choice(["interval", "always", "never"]),
    default=_DEFAULT.fsync,
    show_default=True,
    help="Force what was heard to the disk once a second, after every record, or when the system likes.",
)
@json_option
def record(as_json: bool, **given: Any) -> None:
    """Record what agents and providers say to each other into CAPTURES, until Ctrl-C or SIGTERM.

    Listens on loopback, passes every byte on unchanged. With --json the first line says where it listens.
    """
    settings = RecordSettings(**given)

    def on_ready(listening: Listening) -> None:
        if as_json:
            where = {"anthropic": listening.anthropic_url, "openai": listening.openai_url, "status": None}
            print_json({"event": "ready", **where})
        else:
            _greet(settings, listening)

    totals = run_recorder(settings, on_ready)
    if as_json:
        print_json({"event": "stopped", **asdict(totals)})
    else:
        note(_farewell(settings, totals))


def _greet(settings: RecordSettings, listening: Listening) -> None:
    print(f"recording into {settings.captures}: prompts, answers and tool results, but no keys, cookies or tokens")
    print(f"  Anthropic requests go to {settings.anthropic_upstream}")
    print(f"  OpenAI requests go to {settings.openai_upstream}, with a ChatGPT login to {settings.chatgpt_upstream}")
    print(
        "\nClaude Code, in the shell you start it from (the second line is optional, it tells what requests are for):"
    )
    print(f"  export ANTHROPIC_BASE_URL={listening.anthropic_url}")
    print("  export CLAUDE_CODE_GATEWAY_HINT_HEADERS=1")
    print("\nCodex, at the top of ~/.codex/config.toml:")
    print(f'  openai_base_url = "{listening.openai_url}"')
    print("\nCtrl-C stops: streams in flight get time to end, and everything is written.", flush=True)


def _farewell(settings: RecordSettings, totals: RecordTotals) -> str:
    ends = ", ".join(f"{n} {end}" for end, n in sorted(totals.ends.items())) or "nothing"
    lost = totals.dropped + totals.write_errors + totals.listen_errors
    warning = f"; {lost} could not be recorded in full" if lost else ""
    return f"\n{settings.captures}: {totals.requests} requests heard ({ends}){warning}"

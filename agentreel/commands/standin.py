from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable
from dataclasses import asdict

import click

from agentreel.console import json_option, note, print_json
from corpus.tokenizer import DEFAULT_TOKENIZER, load_tokenizer
from standin.agent_http import AgentPace
from standin.agents import SCENARIOS, run_agents
from standin.engine import EngineSettings, start_engine
from standin.engine_scheduler import Speed
from standin.listening import Listening
from standin.model_api import Pace, start_model_api


@click.group()
def standin() -> None:
    """Run a stand-in model API, inference engine or agents, on loopback."""


@standin.command("model-api")
@click.option("--port", default=0, show_default=True, help="0: any free port.")
@click.option("--seed", default=0, show_default=True, help="Decides every answer.")
@click.option("--first-token-s", default=0.1, show_default=True, help="Seconds before the first token.")
@click.option("--output-tps", default=300.0, show_default=True, help="Output tokens a second.")
@click.option("--websocket/--no-websocket", default=True, show_default=True, help="Offer Responses over WebSocket.")
@json_option
def model_api(port: int, seed: int, first_token_s: float, output_tps: float, websocket: bool, as_json: bool) -> None:
    """A scripted model behind Anthropic Messages and OpenAI Responses (under /v1)."""
    pace = Pace(first_token_s, output_tps)
    asyncio.run(_serve(start_model_api(port, seed=seed, pace=pace, websocket=websocket), as_json=as_json))


@standin.command()
@click.option("--port", default=0, show_default=True, help="0: any free port.")
@click.option("--model", default=EngineSettings().model, show_default=True, help="Name of the model it serves.")
@click.option("--tokenizer", default=DEFAULT_TOKENIZER, show_default=True, metavar="NAME_OR_FILE")
@click.option("--capacity-tokens", type=click.IntRange(64), help="Size of the prefix cache. [default: unlimited]")
@click.option("--context-tokens", type=click.IntRange(2), default=1_048_576, show_default=True)
@click.option("--prefill-tps", type=float, default=100_000.0, show_default=True, help="Prompt tokens a second.")
@click.option(
    "--decode-tps", type=float, default=1_000.0, show_default=True, help="Output tokens a second and request."
)
@click.option(
    "--max-running", type=click.IntRange(1), default=64, show_default=True, help="More requests wait in a queue."
)
@json_option
def engine(
    port: int,
    model: str,
    tokenizer: str,
    capacity_tokens: int | None,
    context_tokens: int,
    prefill_tps: float,
    decode_tps: float,
    max_running: int,
    as_json: bool,
) -> None:
    """An inference engine without a GPU: four endpoints, a block prefix cache, vLLM's metrics."""
    speed = Speed(prefill_tps, decode_tps, max_running)
    settings = EngineSettings(model, context_tokens, capacity_tokens, speed)
    asyncio.run(_serve(start_engine(settings, load_tokenizer(tokenizer), port), as_json=as_json))


async def _serve(starting: Awaitable[Listening], *, as_json: bool) -> None:
    """Say where it listens, then wait for SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    listening = await starting
    if as_json:
        print_json({"event": "ready", "url": listening.url})
    else:
        note(f"listening at {listening.url}; Ctrl-C stops")
    await stop.wait()
    await listening.close()


@standin.command()
@click.option(
    "--anthropic", "anthropic_url", required=True, metavar="URL", help="Base URL for the Claude Code-like agents."
)
@click.option(
    "--openai", "openai_url", required=True, metavar="URL", help="Base URL, ending in /v1, for the Codex-like agents."
)
@click.option("--seed", default=0, show_default=True, help="Decides ids and tool results.")
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    type=click.Choice(tuple(SCENARIOS)),
    help="Can be given again. [default: all]",
)
@click.option("--tool-s", default=0.3, show_default=True, help="Scale of a tool's run time in seconds.")
@click.option("--think-s", default=0.5, show_default=True, help="Seconds between an answer and the next prompt.")
@json_option
def agents(
    anthropic_url: str,
    openai_url: str,
    seed: int,
    scenarios: tuple[str, ...],
    tool_s: float,
    think_s: float,
    as_json: bool,
) -> int:
    """Scripted agents whose requests look on the wire like Claude Code's and Codex's."""
    pace = AgentPace(tool_s, think_s, retry_s=tool_s)
    names = scenarios or tuple(SCENARIOS)
    done = asyncio.run(run_agents(anthropic_url, openai_url, seed=seed, scenarios=names, pace=pace))
    if as_json:
        print_json(asdict(done))
    else:
        for session in done.sessions:
            print(f"{session.scenario}: {session.requests} requests")
    for problem in done.errors:
        note(f"failed: {problem}")
    return 1 if done.errors else 0

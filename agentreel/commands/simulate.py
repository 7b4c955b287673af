from __future__ import annotations

import click

from agentreel.console import json_option, print_json, table_console
from agentreel.source import read_source
from report.cache_pass import CacheSetup, Policy
from report.hit_rates import render_simulation
from report.lanes import prompts_of
from report.routing import Routing
from report.simulation import simulate as simulate_caches


class TokenCounts(click.ParamType[tuple[int, ...]]):
    """Comma-separated numbers of tokens."""

    name = "N[,N...]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            counts = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of numbers like 1000000,4000000", param, ctx)
        if min(counts) < 0:
            self.fail("a capacity cannot be negative", param, ctx)
        return counts


@click.command()
@click.argument("src")
@click.option(
    "--capacity-tokens",
    "capacities",
    type=TokenCounts(),
    default=(),
    help="Cache sizes of one rank; left out: doublings until nothing more is gained.",
)
@click.option("--concurrency", type=click.IntRange(min=1), default=1, show_default=True, help="Live sessions.")
@click.option(
    "--policy",
    type=click.Choice(["lru", "session-aware"]),
    default="lru",
    show_default=True,
    help="session-aware: what finished sessions left goes first.",
)
@click.option("--dram-tokens", type=click.IntRange(min=0), default=0, help="A write-through tier behind HBM.")
@click.option("--nvme-tokens", type=click.IntRange(min=0), default=0, help="A write-through tier behind DRAM.")
@click.option("--ttl", "ttl_s", type=click.FloatRange(min=0), help="Seconds after its last use that a block is lost.")
@click.option("--ranks", type=click.IntRange(min=1), default=1, show_default=True, help="Data-parallel caches.")
@click.option(
    "--routing",
    type=click.Choice(["round-robin", "session", "prefix"]),
    default="session",
    show_default=True,
    help="How a request finds its rank: in turn, with its session, or where most of its prompt is.",
)
@click.option(
    "--idle-cap",
    "idle_cap_s",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="Longest pause of a session in seconds that is kept, as in a replay.",
)
@click.option("--answers-stay", is_flag=True, help="Answers take room in the cache too, as in vLLM.")
@json_option
def simulate(
    src: str,
    *,
    capacities: tuple[int, ...],
    concurrency: int,
    policy: Policy,
    dram_tokens: int,
    nvme_tokens: int,
    ttl_s: float | None,
    ranks: int,
    routing: Routing,
    idle_cap_s: float,
    answers_stay: bool,
    as_json: bool,
) -> None:
    """Predict what prefix caches of given sizes would serve of SRC: hit rates, tiers, ranks, working set.

    Sessions take turns on the lanes that --concurrency gives and share nothing, as in a replay.
    """
    setup = CacheSetup(
        policy=policy,
        lanes=concurrency,
        ranks=ranks,
        routing=routing,
        ttl_us=None if ttl_s is None else round(ttl_s * 1e6),
        dram_tokens=dram_tokens,
        nvme_tokens=nvme_tokens,
        with_answers=answers_stay,
    )
    prompts = [prompts_of(session, round(idle_cap_s * 1e6)) for session in read_source(src)]
    document = simulate_caches(prompts, setup, capacities)
    if as_json:
        print_json(document)
    else:
        table_console().print(render_simulation(document))

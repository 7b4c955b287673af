"""What a chain beside the main one is: a one-off, one of several workers started together, or an agent alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from dagbuild.agentx.chains import Chain, in_time
from dagbuild.agentx.entries import Call
from dagbuild.fan_out import WORKERS, overlapping
from dagbuild.one_offs import is_reduction, is_small


def worker_names(workers: Sequence[Chain], main: Sequence[Call]) -> list[str]:
    """One suffix a worker, `aux:NNN`, `wg:GGG_MMM` or `fa:NNN`; NNN counts all of them."""
    groups = dict(_groups(workers))
    return [_name(number, chain, groups.get(chain), main) for number, chain in enumerate(workers)]


def _name(number: int, chain: Chain, member: tuple[int, int] | None, main: Sequence[Call]) -> str:
    if is_one_off(chain.calls, main):
        return f"aux:{number:03d}"
    return f"fa:{number:03d}" if member is None else f"wg:{member[0]:03d}_{member[1]:03d}"


def is_one_off(calls: Sequence[Call], main: Sequence[Call]) -> bool:
    """Measured against main; "another model" is another than that of main's first request."""
    only, peak = calls[0], max(call.input_tokens for call in main)
    return len(calls) == 1 and (
        only.model != main[0].model
        or is_small(only.input_tokens, peak)
        or is_reduction(only.input_tokens, only.output_tokens)
    )


def _groups(workers: Sequence[Chain]) -> Iterator[tuple[Chain, tuple[int, int]]]:
    """Workers that forked off the same request and ran beside each other, three or more, by first start."""
    forks: defaultdict[int, list[Chain]] = defaultdict(list)
    for chain in workers:
        if chain.fork_of is not None and chain.depth:
            forks[chain.fork_of.place].append(chain)
    runs = [run for siblings in forks.values() for run in overlapping(map(_span, siblings))]
    together = [run for run in runs if len(run) >= WORKERS]
    together.sort(key=lambda run: in_time(run[0].calls[0]))
    for group, run in enumerate(together):
        for member, chain in enumerate(run):
            yield chain, (group, member)


def _span(chain: Chain) -> tuple[float, float, Chain]:
    return chain.calls[0].start_s, max(call.end_s for call in chain.calls), chain

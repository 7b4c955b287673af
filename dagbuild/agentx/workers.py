"""What a chain beside the main one is: a one-off, one of several workers started together, or an agent alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from dagbuild.agentx.chains import Chain, in_time
from dagbuild.agentx.entries import Call

_SMALL_TOKENS: Final = 16384  # prompts below are no agent's ...
_SMALL_SHARE: Final = 0.10  # ... nor those below this share of the main chain's largest
_REDUCED_TOKENS: Final = 4000  # answers up to here may be summaries ...
_REDUCED_RATIO: Final = 20  # ... of prompts that are longer by this factor
_GROUP: Final = 3  # workers


def worker_names(workers: Sequence[Chain], main: Sequence[Call]) -> list[str]:
    """One suffix a worker, `aux:NNN`, `wg:GGG_MMM` or `fa:NNN`; NNN counts all of them."""
    groups = dict(_groups(workers))
    return [_name(number, chain, groups.get(chain), main) for number, chain in enumerate(workers)]


def _name(number: int, chain: Chain, member: tuple[int, int] | None, main: Sequence[Call]) -> str:
    if is_one_off(chain.calls, main) or is_reduction(chain.calls):
        return f"aux:{number:03d}"
    return f"fa:{number:03d}" if member is None else f"wg:{member[0]:03d}_{member[1]:03d}"


def is_one_off(calls: Sequence[Call], main: Sequence[Call]) -> bool:
    """A single request on another model than main's first, or with a small prompt."""
    if len(calls) != 1:
        return False
    peak = max(call.input_tokens for call in main)
    return calls[0].model != main[0].model or calls[0].input_tokens < max(_SMALL_TOKENS, int(_SMALL_SHARE * peak))


def is_reduction(calls: Sequence[Call]) -> bool:
    """A single request that makes little of much."""
    only = calls[0]
    return (
        len(calls) == 1
        and 0 < only.output_tokens < _REDUCED_TOKENS
        and only.input_tokens >= _SMALL_TOKENS
        and only.input_tokens > _REDUCED_RATIO * only.output_tokens
    )


def _groups(workers: Sequence[Chain]) -> Iterator[tuple[Chain, tuple[int, int]]]:
    """Workers that forked off the same request and ran beside each other, three or more, by first start."""
    forks: defaultdict[int, list[Chain]] = defaultdict(list)
    for chain in workers:
        if chain.fork_of is not None and chain.depth:
            forks[chain.fork_of.place].append(chain)
    together = [run for siblings in forks.values() for run in _overlapping(siblings) if len(run) >= _GROUP]
    together.sort(key=lambda run: in_time(run[0].calls[0]))
    for group, run in enumerate(together):
        for member, chain in enumerate(run):
            yield chain, (group, member)


def _overlapping(siblings: Sequence[Chain]) -> list[list[Chain]]:
    """Cut where nobody runs; siblings come by first start, and touching is no overlap."""
    runs: list[list[Chain]] = []
    reached = 0.0
    for chain in siblings:
        end = max(call.end_s for call in chain.calls)
        if runs and chain.calls[0].start_s < reached:
            runs[-1].append(chain)
            reached = max(reached, end)
        else:
            runs.append([chain])
            reached = end
    return runs

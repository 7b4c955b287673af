"""What sessions of many people begin with alike, shown as the same block numbers in a published corpus.

A real cache serves a harness's tools and system prompt to everybody; numbers of a session's own hide that. Blocks of
heads that at least `LEAST_CONTRIBUTORS` people sent get numbers from `SHARED_FROM` on, the same in all sessions and in
an order that is drawn anew each time, so that no number tells who was first. Numbers stand for whole prefixes: a line
of somebody's own instructions can only be among them if that many people share everything up to it. The other blocks
stay a session's own, numbered 1, 2, 3, ... by first appearance as ever, so which requests share what is unchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Final

import numpy as np

from anonymize.contributions import Contributions
from corpus.blocks import SHARED_FROM, encode_blocks, expand_blocks
from corpus.session import Session

LEAST_CONTRIBUTORS: Final = 5


def draw_shared(known: Contributions, sessions: Iterable[int], random: Random) -> dict[int, int]:
    """Common block -> shared number, of what enough people sent in those `sessions` that are to be published.

    `random`: SystemRandom, but for tests.
    """
    people: dict[int, set[int]] = defaultdict(set)
    for session in sessions:
        contributor = known.contributor(session)
        if contributor is not None:
            for common in known.common_blocks(session).values():
                people[common].add(contributor)
    shared = [common for common, who in people.items() if len(who) >= LEAST_CONTRIBUTORS]
    random.shuffle(shared)
    return {common: SHARED_FROM + number for number, common in enumerate(shared)}


def share_heads(session: Session, common: Mapping[int, int], shared: Mapping[int, int]) -> Session:
    """`common`: `Contributions.common_blocks` of this session; `shared`: of `draw_shared`."""
    given = {block: shared[number] for block, number in common.items() if number in shared}
    if not given:
        return session
    lists = expand_blocks([request.blocks for request in session.requests])
    highest = max((int(blocks.max()) for blocks in lists if len(blocks)), default=0)
    named = np.zeros(highest + 1, dtype=np.int64)
    for block, number in given.items():
        named[block] = number
    own = named == 0
    own[0] = False
    named[own] = np.arange(1, int(own.sum()) + 1)
    deltas = encode_blocks(named[blocks] for blocks in lists)
    requests = (replace(one, blocks=delta) for one, delta in zip(session.requests, deltas, strict=True))
    return replace(session, requests=tuple(requests))

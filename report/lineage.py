"""What a session's delta-encoded prompts share, without expanding them.

A request's `keep` is the longest prefix it shares with any earlier request, so an infinite cache that lives as long as
the session would have served exactly that; and what any two prompts share follows from the chain of bases.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from corpus.blocks import count_blocks, repeated_tokens
from corpus.purpose import STEPS
from corpus.session import Request, Session


def block_counts(requests: Sequence[Request]) -> list[int]:
    return [count_blocks(request.blocks) for request in requests]


def cached_tokens(session: Session) -> list[int]:
    """Per request, the tokens that an infinite cache of this session alone would hold when it comes."""
    return [repeated_tokens(r, session.block_size) for r in session.requests]


def shared_blocks(requests: Sequence[Request], counts: Sequence[int], one: int, other: int) -> int:
    """How many leading blocks two prompts share. Holds because `keep` is the longest shared prefix."""
    limit = max(counts, default=0)
    while one != other:
        one, other = min(one, other), max(one, other)
        limit = min(limit, requests[other].blocks.keep)
        other = requests[other].blocks.base
        if other < 0:
            return 0
    return min(limit, counts[one])


def streams(session: Session) -> list[list[Request]]:
    """Per agent, the steps of its conversation in order of start; agents without any are left out."""
    found: dict[int, list[Request]] = {}
    for request in session.requests:
        if request.purpose in STEPS:
            found.setdefault(request.agent, []).append(request)
    return list(found.values())


def steps(session: Session, agent: int | None = None) -> list[tuple[Request, Request]]:
    """Consecutive steps of the same stream, of one agent or of all."""
    return [pair for stream in streams(session) if agent in (None, stream[0].agent) for pair in pairwise(stream)]

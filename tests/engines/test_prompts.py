"""The truth about single prompts: what leaves re-derives the corpus's block ids, and a seed decides its bytes.

A body does not say which request it is of. Prompt and output length do, for all requests but a few that happen to agree
in both; those few are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from agentreel.source import read_source
from corpus.blocks import expand_blocks
from corpus.session import Session
from tests.engines.listener import Heard, listening
from tests.engines.replays import replay

Lengths = tuple[int, int]  # prompt and output tokens
BLOCK = 64


@pytest.fixture(scope="module")
def sessions(corpus: Path) -> list[Session]:
    return list(read_source(str(corpus)))


@pytest.fixture(scope="module")
def runs(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Heard, Heard, Heard]:
    """What was heard with seeds 42, 42 and 43."""
    out = tmp_path_factory.mktemp("runs")
    options = ("--warmup", "none", "--concurrency", "7", "--speedup", "1000")
    found = []
    for number, seed in enumerate((42, 42, 43)):
        with listening() as heard:
            run = replay(corpus, heard.url, out / str(number), *options, "--seed", str(seed))
        assert run.summary["token_error"]["max"] == 0
        heard.bodies.pop(0)  # the test request before the run
        assert len(heard.bodies) == run.summary["requests"]
        found.append(heard)
    return found[0], found[1], found[2]


def lengths(session: Session) -> list[Lengths]:
    return [(request.input_tokens, request.output_tokens or 1) for request in session.requests]


def unique(sessions: Iterable[Session]) -> frozenset[Lengths]:
    seen = Counter(pair for session in sessions for pair in lengths(session))
    return frozenset(pair for pair, count in seen.items() if count == 1)


def by_lengths(heard: Heard, known: frozenset[Lengths]) -> dict[Lengths, bytes]:
    found = {}
    for body in heard.bodies:
        asked = json.loads(body)
        pair = (len(asked["prompt"]), asked["max_tokens"])
        if pair in known:
            assert pair not in found
            found[pair] = body
    return found


def renumbered(prompts: Sequence[Sequence[object]]) -> list[list[int]]:
    """Every new thing gets the next number, in order of first appearance."""
    numbers: dict[object, int] = {}
    return [[numbers.setdefault(block, len(numbers) + 1) for block in prompt] for prompt in prompts]


def chained(ids: Sequence[int]) -> list[tuple[int, ...]]:
    """Whole blocks, each standing for all ids up to its end."""
    return [tuple(ids[: end + BLOCK]) for end in range(0, len(ids) - BLOCK + 1, BLOCK)]


def in_order_of_requests(
    session: Session, bodies: Mapping[Lengths, bytes]
) -> tuple[list[list[int]], list[Sequence[int]]]:
    """Block ids of the corpus and token ids that were sent, of the session's requests whose bodies are known."""
    blocks = expand_blocks([request.blocks for request in session.requests])
    pairs = lengths(session)
    known = [number for number, pair in enumerate(pairs) if pair in bodies]
    return [blocks[n].tolist() for n in known], [json.loads(bodies[pairs[n]])["prompt"] for n in known]


def test_sent_ids_cut_into_blocks_are_the_block_ids_of_the_corpus(
    runs: tuple[Heard, Heard, Heard], sessions: list[Session]
) -> None:
    bodies = by_lengths(runs[0], unique(sessions))
    assert len(bodies) > 40
    shared = 0
    for session in sessions:
        blocks, sent = in_order_of_requests(session, bodies)
        assert len(sent) >= 3
        assert renumbered([chained(ids) for ids in sent]) == renumbered(blocks)
        shared += len([block for prompt in blocks for block in prompt]) - len({b for prompt in blocks for b in prompt})
    assert shared > 1000


def test_sessions_share_no_block(runs: tuple[Heard, Heard, Heard], sessions: list[Session]) -> None:
    bodies = by_lengths(runs[0], unique(sessions))
    openings = [{tuple(ids[:BLOCK]) for ids in in_order_of_requests(session, bodies)[1]} for session in sessions]
    assert len(frozenset().union(*openings)) == sum(map(len, openings))


def test_one_seed_sends_the_same_bytes_for_every_request(
    runs: tuple[Heard, Heard, Heard], sessions: list[Session]
) -> None:
    first, second, _ = runs
    assert Counter(first.bodies) == Counter(second.bodies)
    assert by_lengths(first, unique(sessions)) == by_lengths(second, unique(sessions))


def test_another_seed_keeps_every_length_and_shares_no_opening(
    runs: tuple[Heard, Heard, Heard],
) -> None:
    first, _, other = ([json.loads(body) for body in heard.bodies] for heard in runs)
    assert Counter((len(b["prompt"]), b["max_tokens"]) for b in first) == Counter(
        (len(b["prompt"]), b["max_tokens"]) for b in other
    )
    assert not {tuple(b["prompt"][:BLOCK]) for b in first} & {tuple(b["prompt"][:BLOCK]) for b in other}

"""A real vLLM with a small KV cache serves of every prompt exactly what `simulate` says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from corpus.card import Card
from corpus.session import Session
from corpus.tables import write_corpus
from report.cache_pass import CacheSetup
from report.lanes import prompts_of
from report.simulation import Simulation
from tests.engines.conftest import Say, started
from tests.engines.installs import vllm_python
from tests.engines.replays import replay, sentence
from tests.engines.servers import serving_vllm
from tests.replay.rehearsal import Asked, edge, session_of

BLOCK: Final = 64
# One block of the pool is vLLM's own null block, and one is always the unfinished last block of the running request.
POOL_BLOCKS: Final = 72
CACHE_TOKENS: Final = (POOL_BLOCKS - 2) * BLOCK
PROMPT_BLOCKS: Final = 60


@pytest.fixture(scope="module")
def small_vllm(say: Say) -> Iterator[str]:
    flags = ("--num-gpu-blocks-override", str(POOL_BLOCKS), "--max-model-len", str(CACHE_TOKENS - 4 * BLOCK))

    def serving(python: Path) -> AbstractContextManager[str]:
        return serving_vllm(python, *flags, log="vllm-small")

    with started("vLLM, small", vllm_python, serving, say) as url:
        yield url


def branching(number: int, requests: int) -> Session:
    """Each prompt goes on from a random part of a random earlier one; one after another, never ending with a block."""
    choice = random.Random(number)
    prompts: list[list[int]] = [list(range(1, 21))]
    fresh = 1000
    while len(prompts) < requests:
        base = choice.choice(prompts[-6:])
        kept = base[: choice.choice((len(base), len(base), choice.randint(1, len(base))))]
        new = min(choice.randint(0, 25), PROMPT_BLOCKS - len(kept))
        prompts.append(kept + list(range(fresh, fresh + new)))
        fresh += new
    asked = []
    for start, prompt in enumerate(prompts):
        tail, answer = choice.randint(1, 63), choice.randint(1, 150)
        answer += (BLOCK * len(prompt) + tail + answer - 1) % BLOCK == 0
        asked.append(Asked(start, start + 0.5, tuple(prompt), BLOCK * len(prompt) + tail, answer))
    return session_of(asked, [edge(n, n + 1, 0.5) for n in range(requests - 1)], number=number)


def test_a_full_cache_serves_every_request_as_simulated(small_vllm: str, tmp_path: Path, say: Say) -> None:
    sessions = [branching(number, 60) for number in range(3)]
    corpus = tmp_path / "corpus"
    write_corpus(corpus, sessions, Card("a test of agentreel"))
    run = replay(corpus, small_vllm, tmp_path / "run", "--warmup", "none", "--speedup", "1000")
    assert (run.summary["errors"], run.summary["token_error"]["max"]) == (0, 0)

    simulation = Simulation([prompts_of(session, 0) for session in sessions], CacheSetup(with_answers=True))
    expected = simulation.serve(CACHE_TOKENS).hbm.tolist()
    rows = sorted(run.requests, key=lambda row: (row.session, row.request))
    assert [row.cached_tokens for row in rows] == expected
    endless = int(simulation.serve(None).hbm.sum())
    assert 0 < sum(expected) < 0.9 * endless  # the cache is small enough to matter
    say(f"{sentence('vLLM, small cache', run)}; simulated {sum(expected)}, without limit {endless}")

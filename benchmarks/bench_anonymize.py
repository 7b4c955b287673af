"""How fast a session is anonymized, against the plain way, and where the time goes.

The session: a main agent of 150 turns and three sub-agents, real text, at least 50 million input tokens. The plain way:
parse, tokenize the whole prompt of each request with `tokenizers`, chain SHA-256 over blocks of 64; measured on a
sample of the same requests in the same run. Both in CPU seconds of one process. Work is counted, not guessed: tokens
tokenized and blocks hashed per request against what it added.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import tokenizers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import anonymize.hearing
import anonymize.session
from anonymize.digests import BlockChains
from anonymize.segments import placed_parts
from anonymize.session import anonymize_session
from anonymize.tokens import SegmentTokens
from benchmarks.conversations import Texts, converse, exchange_of, without_bodies
from corpus.card import Card
from corpus.exchange import Exchange, Identity
from corpus.session import Session
from corpus.tables import write_corpus
from corpus.tokenizer import DEFAULT_TOKENIZER, Tokenizer, known_tokenizers, load_tokenizer
from wire.prompt import read_prompt

TURNS, CHILDREN = 150, 3
TARGET_TOKENS: Final = 50_000_000
SAMPLE = 40  # every nth request goes the plain way
BLOCK = 64


def make_session(result_size: int = 4_500) -> list[Exchange]:
    texts, made = Texts(11), []
    model, number = "claude-opus-5-5", 0
    usage = {"input_tokens": 1, "output_tokens": 1}
    for agent in range(1 + CHILDREN):
        identity = Identity(
            session_id="s",
            agent_id=f"a{agent}" if agent else None,
            agent_kind="subagent" if agent else "main",
            purpose="turn",
        )
        talk = converse(texts, TURNS if not agent else 2 * TURNS // 3, result_size)
        for body, turn in zip(talk.bodies(model), talk.turns, strict=True):
            made.append(exchange_of(number, body, turn.answer, usage, identity))
            number += 1
    return made


class Clock:
    """CPU seconds by name; whatever is timed inside of something else is taken off it."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._inner = [0.0]

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **more: Any) -> Any:
            start = time.process_time()
            self._inner.append(0.0)
            try:
                return function(*args, **more)
            finally:
                whole = time.process_time() - start
                self.spent[name] += whole - self._inner.pop()
                self._inner[-1] += whole

        return run


@contextmanager
def watched(clock: Clock) -> Iterator[None]:
    """Time the parts of the room by standing in for its functions."""
    parts: list[tuple[Any, str, str]] = [
        (anonymize.hearing, "read_prompt", "parsing"),
        (anonymize.hearing, "read_answer", "parsing"),
        (anonymize.hearing, "decode_body", "parsing"),
        (Tokenizer, "encode", "tokenizing"),
        (BlockChains, "grow", "hashing"),
        (anonymize.session, "encode_blocks", "deltas"),
        (anonymize.session, "encode_segments", "deltas"),
        (anonymize.session, "check_record", "checking"),
    ]
    parts = [one for one in parts if hasattr(one[0], one[1])]
    before = [getattr(place, name) for place, name, _ in parts]
    for place, name, what in parts:
        setattr(place, name, clock.timed(what, getattr(place, name)))
    try:
        yield
    finally:
        for (place, name, _), function in zip(parts, before, strict=True):
            setattr(place, name, function)


def build(exchanges: list[Exchange], tokenizer: Tokenizer) -> Session:
    made = anonymize_session(
        exchanges,
        heads=map(without_bodies, exchanges),
        number=0,
        tokenizer=tokenizer,
        block_size=BLOCK,
        max_input_tokens=990_000,
        keep_aux=False,
        key=bytes(32),
    ).session
    assert made is not None
    return made


def write(session: Session) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder) / "corpus", [session], Card("bench", block_size=BLOCK))


def plain_way(exchanges: list[Exchange]) -> tuple[int, float]:
    """(tokens, CPU seconds) of every `SAMPLE`th request, as a straightforward script would do it."""
    path = known_tokenizers()[DEFAULT_TOKENIZER]
    slow = tokenizers.Tokenizer.from_file(str(path))
    tokens, start = 0, time.process_time()
    for one in exchanges[SAMPLE // 2 :: SAMPLE]:
        body = json.loads(one.request.body)
        text = json.dumps(body["tools"]) + json.dumps(body["system"]) + "".join(_texts(body["messages"]))
        ids = np.array(slow.encode(text).ids, dtype="<u4")
        digest = b""
        for at in range(0, len(ids) - BLOCK + 1, BLOCK):
            digest = hashlib.sha256(digest + ids[at : at + BLOCK].tobytes()).digest()
        tokens += len(ids)
    return tokens, time.process_time() - start


def _texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        for block in message["content"]:
            yield block.get("text") or block.get("content") or json.dumps(block.get("input"))


def count_work(exchanges: list[Exchange], tokenizer: Tokenizer, clock: Clock) -> dict[str, Any]:
    """Walk again with the room's own parts, counting: work per request, and CPU time of it, beside what it added."""
    segments, chains = SegmentTokens(tokenizer), BlockChains(bytes(32), tokenizer.sha256, BLOCK)
    seen: set[int] = set()
    excess_tokens = excess_blocks = 0
    halves = [[0.0, 0], [0.0, 0]]  # CPU seconds and tokens of new content, first and second half of the main agent
    for number, one in enumerate(exchanges):
        prompt = read_prompt(one.request.api, one.request.body)
        parts = [segment for segment, _ in placed_parts(prompt)]
        tokenized, hashed, start = segments.tokenized, chains.hashed, sum(clock.spent.values())
        handles = [segments.handle(segment) for segment in parts]
        places = chains.known(prompt.model or "", handles)
        known = places[-1].total
        for handle in handles[len(places) - 1 :]:
            interned = segments.interned(handle)
            places.append(chains.grow(places[-1], handle, interned.role, interned.tokens))
        spent = sum(clock.spent.values()) - start
        new = sum(len(segments.interned(handle).tokens) - 1 for handle in set(handles) - seen)
        seen.update(handles)
        excess_tokens += segments.tokenized - tokenized - new
        excess_blocks += chains.hashed - hashed - (places[-1].total // BLOCK - known // BLOCK)
        if 10 <= number < TURNS:
            half = halves[number >= TURNS // 2]
            half[0] += spent
            half[1] += places[-1].total - known
    per_token = [seconds / max(tokens, 1) for seconds, tokens in halves]
    return {
        "tokenized_beyond_new": excess_tokens,
        "hashed_beyond_new": excess_blocks,
        "ns_per_new_token_first_half": round(per_token[0] * 1e9),
        "ns_per_new_token_second_half": round(per_token[1] * 1e9),
    }


def main() -> None:
    tokenizer = load_tokenizer()
    exchanges = make_session()
    clock = Clock()
    start = time.process_time()
    with watched(clock):
        session = build(exchanges, tokenizer)
        clock.timed("writing", write)(session)
    spent = time.process_time() - start
    tokens = sum(request.input_tokens for request in session.requests)
    plain_tokens, plain_spent = plain_way(exchanges)
    rate, plain_rate = tokens / spent, plain_tokens / plain_spent
    shares = {name: round(seconds / spent, 3) for name, seconds in clock.spent.most_common()}
    line = {
        "bench": "anonymize_speed",
        "requests": len(session.requests),
        "input_tokens": tokens,
        "body_bytes": sum(one.request.body_bytes for one in exchanges),
        "cpu_s": round(spent, 2),
        "tokens_per_s_and_core": round(rate),
        "plain_tokens_per_s_and_core": round(plain_rate),
        "times_plain": round(rate / plain_rate, 1),
        "shares": shares | {"walking": round(1 - sum(clock.spent.values()) / spent, 3)},
        "target": f"times_plain >= 40, input_tokens >= {TARGET_TOKENS}",
        "ok": rate >= 40 * plain_rate and tokens >= TARGET_TOKENS,
    }
    print(json.dumps(line), flush=True)
    clock = Clock()
    with watched(clock):
        work = count_work(exchanges, tokenizer, clock)
    exact = work["tokenized_beyond_new"] == 0 and work["hashed_beyond_new"] == 0
    target = "no token tokenized and no block hashed beyond what is new"
    print(json.dumps({"bench": "anonymize_work"} | work | {"target": target, "ok": exact}))


if __name__ == "__main__":
    main()

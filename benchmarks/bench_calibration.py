"""How close calibrated lengths come to a provider that counts with another tokenizer and adds what nobody tells.

The provider is synthetic, so its truth is known: text by a Claude tokenizer (two of them, installed into `.peers`),
tools rendered anew, framing per message and block, images by patches, thoughts carried at full length though only a
seal of noisy size is on the wire; and, outside of everything the fit can say, a hidden line per session and a few
hidden tokens per tool result. The features count with deepseek-v4. Figures: held out by session (fitted), and pinned,
apart.
"""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from anonymize.assessment import assess
from anonymize.calibration_file import report_json
from anonymize.fitting import fit_calibration
from anonymize.observing import Observed, observe
from anonymize.reuse import assess_reuse
from anonymize.session import anonymize_session
from benchmarks.conversations import Conversation, Texts, Turn, converse, exchange_of
from corpus.blocks import expand_blocks
from corpus.exchange import Exchange, Identity
from corpus.session import Session
from corpus.tokenizer import load_tokenizer

PEERS = Path(__file__).resolve().parents[1] / ".peers" / "counting"
SESSIONS, HELD_OUT_SESSIONS = 30, 6
MODEL = "claude-opus-5-5"

type Count = Callable[[str], int]


def install() -> bool:
    """Peers into a folder of their own; False, with a reason on stderr, when they cannot be had."""
    if not (PEERS / "ctok").is_dir() or not (PEERS / "anthropic").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(PEERS)]
        for more in (["ctok==1.3.0"], ["--no-deps", "anthropic==0.38.0"]):
            done = subprocess.run([*pip, *more], capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"skipped: {more[-1]} cannot be installed: {done.stderr.strip()[-200:]}", file=sys.stderr)
                return False
    sys.path.insert(0, str(PEERS))
    return True


def claude_2() -> Count:
    file = tokenizers.Tokenizer.from_file(str(PEERS / "anthropic" / "tokenizer.json"))
    return lambda text: len(file.encode(text, add_special_tokens=False).ids)


def claude_4_8() -> Count:
    ctok: Any = importlib.import_module("ctok")
    frame = ctok.token_count("", "4.8")
    return lambda text: int(ctok.token_count(text, "4.8")) - frame


class Provider:
    """Counts prompts. What a turn adds is counted once and kept."""

    def __init__(self, count: Count) -> None:
        self._count = count

    def counts(self, made: Conversation, number: int) -> list[tuple[int, int]]:
        """(input, output) tokens of each request; `number`: of the session."""
        total = 340 + 37 * (number % 4)  # hidden tool prompt, and a hidden line of the session's own
        total += sum(12 + round(0.9 * self._count(json.dumps(tool))) for tool in made.tools)
        total += sum(self._text(block["text"]) for block in made.system)
        counted = []
        for turn in made.turns:
            total += 5 + sum(self._block(block, turn) for block in turn.said)
            spoken = sum(self._block(block, turn) for block in turn.answer)
            counted.append((total, spoken))
            total += 5 + spoken
        return counted

    def _text(self, text: str) -> int:
        return 2 + self._count(text)

    def _block(self, block: dict[str, Any], turn: Turn) -> int:
        match block["type"]:
            case "text":
                return self._text(block["text"])
            case "tool_result":
                return self._text(block["content"]) + 8 + zlib.crc32(block["content"].encode()) % 7
            case "tool_use":
                return self._text(json.dumps(block["input"])) + 15
            case "thinking":
                return self._count(turn.thought)
            case _:
                width, height = turn.image or (1, 1)
                return 8 + math.ceil(width / 28) * math.ceil(height / 28)


def conversations() -> list[Conversation]:
    texts = Texts(5)
    return [converse(texts, texts.random.randrange(15, 45), 2_500, thinking=True, images=0.04) for _ in range(SESSIONS)]


def exchanges_of(made: Conversation, counts: list[tuple[int, int]]) -> list[Exchange]:
    identity = Identity(session_id="s", purpose="turn", harness="claude-code", harness_version="2.1.328")
    usages = [
        {"input_tokens": given - read, "cache_read_input_tokens": read, "output_tokens": out}
        for (given, out), (read, _) in zip(counts, [(0, 0), *counts], strict=False)  # all of the prompt before
    ]
    return [
        exchange_of(number, body, turn.answer, usage, identity)
        for number, (body, turn, usage) in enumerate(zip(made.bodies(MODEL), made.turns, usages, strict=True))
    ]


def built(exchanges: list[Exchange], **more: Any) -> Session:
    plain: dict[str, Any] = {"number": 0, "block_size": 64, "max_input_tokens": 990_000, "keep_aux": True}
    made = anonymize_session(exchanges, tokenizer=load_tokenizer(), key=bytes(32), **(plain | more)).session
    assert made is not None
    return made


def reuse(session: Session) -> float:
    """Share of prompt blocks that an earlier request had."""
    seen: set[int] = set()
    reused = total = 0
    for blocks in expand_blocks([request.blocks for request in session.requests]):
        reused += len(seen.intersection(blocks.tolist()))
        total += len(blocks)
        seen.update(blocks.tolist())
    return reused / total


def measure(truth: str, count: Count, made: list[Conversation]) -> None:
    provider, tokenizer = Provider(count), load_tokenizer()
    sessions = [exchanges_of(one, provider.counts(one, number)) for number, one in enumerate(made)]
    observed: list[Observed] = [observe(one, one, tokenizer) for one in sessions]
    report = assess(observed)[MODEL]
    for stage, ratios in report.stages.items():
        goal = {"fitted": (5, 0.95), "pinned": (1, 0.95)}.get(stage)
        line: dict[str, Any] = {"bench": f"calibration_{stage}", "truth": truth, "requests": report.requests}
        line |= {f"p{p}": round(ratio, 4) for p, ratio in ratios.percentiles.items()}
        line |= {f"within_{w}": round(share, 4) for w, share in ratios.within.items()}
        if goal:
            line |= {"target": f"within_{goal[0]} >= {goal[1]}", "ok": ratios.within[goal[0]] >= goal[1]}
        print(json.dumps(line), flush=True)
    reuse = report_json({MODEL: report}, assess_reuse(observed))[MODEL]
    assert isinstance(reuse, dict)
    print(json.dumps({"bench": "calibration_reuse", "truth": truth} | reuse["reuse"]), flush=True)
    calibration = fit_calibration(observed[HELD_OUT_SESSIONS:], tokenizer.name, tokenizer.sha256)
    measure_corpus(truth, sessions[:HELD_OUT_SESSIONS], calibration)


def measure_corpus(truth: str, sessions: list[list[Exchange]], calibration: Any) -> None:
    """The same through a whole build: lengths in the corpus, and what became of prefix reuse."""
    ratios, before, after = [], [], []
    for exchanges in sessions:
        plain, fitted = built(exchanges), built(exchanges, calibration=calibration)
        counted = [request.usage.input_tokens for request in fitted.requests if request.usage]
        ratios += [one.input_tokens / (tokens or 1) for one, tokens in zip(fitted.requests, counted, strict=True)]
        before.append(reuse(plain))
        after.append(reuse(fitted))
    within = float((np.abs(np.array(ratios) - 1) <= 0.01).mean())
    drift = max(abs(one - two) for one, two in zip(before, after, strict=True))
    line = {"bench": "calibration_corpus", "truth": truth, "requests": len(ratios), "within_1": round(within, 4)}
    line |= {"reuse_before": round(float(np.mean(before)), 4), "reuse_after": round(float(np.mean(after)), 4)}
    target = "within_1 >= 0.95, reuse of no session off by more than 0.01"
    print(
        json.dumps(line | {"largest_drift": round(drift, 4), "target": target, "ok": within >= 0.95 and drift <= 0.01})
    )


def main() -> None:
    if not install():
        return
    made = conversations()
    for truth, count in (("claude-2 file", claude_2), ("ctok 4.8", claude_4_8)):
        measure(truth, count(), made)


if __name__ == "__main__":
    main()

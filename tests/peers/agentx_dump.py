"""Run by the reference harness's own interpreter: what its loader makes of a folder of traces, as JSON.

    python agentx_dump.py FOLDER > graph.json
    python agentx_dump.py FOLDER --dataset > graph.json
    python agentx_dump.py FOLDER --time [TOKENIZER.json] > seconds.json

One trace a file; the answer is one entry a file, by name: its streams, or {"refused": reason}. No text is made unless a
tokenizer is named: blocks decode to nothing, so that only streams, branches, delays, joins and predecessors are left.
With --dataset the folder is a dataset as the hub would hold it, whose config `weka` goes the way of the public sets.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["AIPERF_DATASET_WEKA_PARALLEL_WORKERS"] = "1"  # nothing of it runs in other processes
os.environ["HF_HUB_OFFLINE"] = "1"


class _Texts:
    """Stands in for the prompt generator, its tokenizer and its random numbers."""

    seed = 1
    resolved_name = "none"

    def __init__(self, tokenizer: str | None = None) -> None:
        self.tokenizer = self._hash_id_corpus_rng = self
        self._plain = (
            None if tokenizer is None else importlib.import_module("tokenizers").Tokenizer.from_file(tokenizer)
        )
        self._cache: dict[int, list[int]] = {}
        self._tokenized_corpus = [100 + 7 * n % 50_000 for n in range(100_000)]
        self._corpus_size = len(self._tokenized_corpus)
        self._bpe_stable_terminator_tokens: list[int] = []
        self._at = 0

    def decode(self, tokens: list[int], **_options: Any) -> str:
        return self._plain.decode(tokens) if self._plain else ""

    def set_trace_id(self, _trace_id: str) -> None:
        pass

    def reseed_for_hash_id(self, hash_id: int) -> None:
        self._at = 7919 * hash_id

    def randrange(self, stop: int) -> int:
        return self._at % stop


def open_loader(folder: Path, tokenizer: str | None = None) -> Any:
    """The loader as a run without any option would set it up."""
    module = importlib.import_module("aiperf.dataset.loader.weka_trace")
    loader = object.__new__(module.WekaTraceLoader)
    plain: dict[str, Any] = dict.fromkeys(
        ("max_isl", "max_osl", "max_context_length", "inter_turn_delay_cap_seconds", "user_block_size_override")
    )
    plain |= dict.fromkeys(("fixed_schedule_start_offset", "fixed_schedule_end_offset"))
    plain |= {"ignore_trace_delays": False, "use_think_time_only": False, "tool_shaped_messages": False}
    plain |= {"block_size": 64, "configured_model_names": ["served"], "tokenizer_name": "none", "path": folder}
    plain |= {"delay_cap_tracker": module.DelayCapTracker(cap_seconds=None)}
    for name, value in plain.items():
        setattr(loader, f"_{name}", value)
    loader.prompt_generator = _Texts(tokenizer)
    return loader


def dump(folder: Path) -> dict[str, Any]:
    return {path.stem: _dump_one(path) for path in sorted(folder.glob("*.json"))}


def _dump_one(path: Path) -> Any:
    loader = open_loader(path)
    try:
        return _streams(loader, loader.load_dataset())
    except Exception as error:  # noqa: BLE001  # whatever it raises is its way to refuse
        return {"refused": f"{type(error).__name__}: {error}"}


def _streams(loader: Any, traces: Any) -> list[dict[str, Any]]:
    loader._path = None  # no selection of traces
    return [_stream(conversation) for conversation in loader.convert_to_conversations(traces)]


def dump_dataset(folder: Path) -> dict[str, Any]:
    """Rows through `datasets` of this interpreter, each checked as the loader of the public sets does."""
    library = importlib.import_module("datasets")
    public = importlib.import_module("aiperf.dataset.loader.semianalysis_cc_traces_weka")

    class Loader(public.SemiAnalysisCCTracesWekaLoader):  # type: ignore[misc, name-defined]  # the consumer's own class
        hf_dataset_name = str(folder)

        def __init__(self) -> None:
            pass

        def info(self, _message: str) -> None:
            pass

    with tempfile.TemporaryDirectory() as cache:
        rows = library.load_dataset(str(folder), "weka", split="train", cache_dir=cache)
        traces = Loader()._load_all_traces(rows, len(rows))
    return {name: _streams(open_loader(folder), {name: trace}) for name, trace in traces.items()}


def _stream(conversation: Any) -> dict[str, Any]:
    return {
        "stream": conversation.session_id,
        "root": conversation.is_root is not False,
        "scope": conversation.replay_scope_id,
        "branches": [
            {
                "id": branch.branch_id,
                "children": branch.child_conversation_ids,
                "background": branch.is_background,
                "start_ms": branch.start_timestamp_ms,
            }
            for branch in conversation.branches
        ],
        "turns": [_turn(turn) for turn in conversation.turns],
    }


def _turn(turn: Any) -> dict[str, Any]:
    return {
        "outer": turn.source_outer_idx,
        "inner": turn.source_inner_idx,
        "t_ms": turn.timestamp,
        "delay_ms": None if turn.delay is None else round(turn.delay, 3),
        "api_ms": turn.api_time_ms,
        "max_tokens": turn.max_tokens,
        "spawns": turn.branch_ids,
        "joins": [prerequisite.branch_id for prerequisite in turn.prerequisites],
        "after": [[before.conversation_id, before.turn_index] for before in turn.replay_predecessors],
    }


def measure(folder: Path, tokenizer: str | None) -> dict[str, float]:
    """CPU seconds of this process: reading and checking, finding the streams, and the whole conversion."""
    loader = open_loader(folder, tokenizer)
    began = time.process_time()
    traces = loader.load_dataset()
    read = time.process_time()
    loader._path = None
    loader._build_reconstruction_plans(traces)
    planned = time.process_time()
    loader.convert_to_conversations(traces)
    converted = time.process_time()
    return {"read_s": read - began, "streams_s": planned - read, "convert_s": converted - planned}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    folder, options = Path(sys.argv[1]), sys.argv[2:]
    if options == ["--dataset"]:
        answer: Any = dump_dataset(folder)
    else:
        answer = measure(folder, options[1] if options[1:] else None) if options else dump(folder)
    sys.stdout.write(json.dumps(answer))

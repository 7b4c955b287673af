"""Run by a consumer's own interpreter: what its loader makes of a trace, as one line of JSON.

    python formats_dump.py mooncake|bailian|dag|weka-models|weka-calls PATH
    python formats_dump.py dynamo-mooncake|dynamo-mooncake-delta|dynamo-agentic PATH

mooncake, bailian, dag (aiperf, agentx-harness): {conversation: {mode, root, branches, turns: [...]}}, lengths in
tokens as the consumer would send them. weka-models (the same): per file the checked model's requests. weka-calls
(inference-perf): per file the calls it would replay. dynamo-...: per session what its simulator sent; dynamo-agentic:
per request when, in simulated milliseconds. No tokenizer is needed: a token stands for itself.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class _Tokens:
    """Stands in for a prompt generator's tokenizer and random numbers."""

    block_separation_token_id = 0
    resolved_name = "none"

    def set_trace_id(self, _trace_id: str) -> None:
        pass

    def reseed_for_hash_id(self, _hash_id: int) -> None:
        pass

    def randrange(self, *_limits: int) -> int:
        return 0

    def get_tokenizer(self) -> _Tokens:
        return self

    def decode(self, tokens: list[int], **_options: Any) -> str:
        return "x " * len(tokens)


def _generator() -> Any:
    module = importlib.import_module("aiperf.dataset.generator.prompt")

    class Generator(module.PromptGenerator):  # type: ignore[misc, name-defined]  # the consumer's own class
        def _sample_tokens(self, num_tokens: int) -> list[int]:
            return [0] * num_tokens

    generator = object.__new__(Generator)
    tokens = _Tokens()
    plain = {"tokenizer": tokens, "_hash_id_corpus_rng": tokens, "_tokenized_corpus": [1] * 4096}
    plain |= {"_corpus_size": 4096, "_cache": {}, "_decoded_cache": {}}
    for name, value in plain.items():
        setattr(generator, name, value)
    return generator


def _rows(module_name: str, class_name: str, block_size: int, path: Path) -> Any:
    """Conversations of a loader that reads one request a line, prompts as "x" for every token."""
    module = importlib.import_module(f"aiperf.dataset.loader.{module_name}")
    shared = importlib.import_module("aiperf.dataset.loader.hash_ids_synthesis")
    vars(shared)["parallel_decode"] = lambda sequences, *_args, **_options: ["x " * len(tokens) for tokens in sequences]
    caps = importlib.import_module("aiperf.dataset.loader._delay_cap")
    ids = importlib.import_module("aiperf.dataset.loader.base_loader")
    loader = object.__new__(getattr(module, class_name))
    plain = dict.fromkeys(("_start_offset", "_end_offset", "_max_isl", "_max_osl", "_synthesis", "inline_records"))
    plain |= {"filename": str(path), "prompt_generator": _generator(), "_block_size": block_size}
    plain |= {"_tokenizer_name": "none", "_trust_remote_code": False, "_tokenizer_revision": "main"}
    plain |= {"_delay_cap_tracker": caps.DelayCapTracker(cap_seconds=None)}
    plain |= {"session_id_generator": ids.SessionIDGenerator(seed=1), "_logger": logging.getLogger("x")}
    for name, value in plain.items():
        object.__setattr__(loader, name, value)
    for name in ("debug", "info", "warning"):
        object.__setattr__(loader, name, lambda *_args, **_options: None)
    return loader.convert_to_conversations(loader.load_dataset())


def _conversations(found: Any) -> dict[str, Any]:
    return {
        conversation.session_id: {
            "mode": None if conversation.context_mode is None else str(conversation.context_mode.value),
            "root": conversation.is_root,
            "turns": [_turn(turn) for turn in conversation.turns],
            "branches": [
                {"id": b.branch_id, "children": b.child_conversation_ids, "mode": str(b.mode.value)}
                for b in conversation.branches
            ],
        }
        for conversation in found
    }


def _turn(turn: Any) -> dict[str, Any]:
    texts = [text for part in turn.texts for text in part.contents]
    said = [message["content"] for message in turn.raw_messages or ()]
    return {
        "prompt": sum(len(text.split()) for text in [*texts, *said]),
        "answer": turn.max_tokens,
        "delay": turn.delay,
        "timestamp": turn.timestamp,
        "branches": list(turn.branch_ids),
        "joins": [prerequisite.branch_id for prerequisite in turn.prerequisites],
    }


def _weka_models(folder: Path) -> Any:
    models = importlib.import_module("aiperf.dataset.loader.weka_trace_models")
    found = {}
    for file in sorted(folder.glob("*.json")):
        trace = models.WekaTrace.model_validate(json.loads(file.read_bytes()))
        requests = [inner for entry in trace.requests for inner in getattr(entry, "requests", (entry,))]
        found[trace.id] = [[r.input_length, r.output_length, len(r.hash_ids)] for r in requests]
    return found


def _weka_calls(folder: Path) -> Any:
    """inference-perf's calls, with the prompts it reconstructs counted in tokens."""
    module = importlib.import_module("inference_perf.datagen.replay.weka_trace_replay_datagen")
    loader = object.__new__(module.WekaTraceReplayDataGenerator)
    plain = dict.fromkeys(("filter", "trace_files", "hf_dataset_path", "model_mapping"))
    plain |= {"trace_directory": str(folder), "skip_invalid_files": False, "default_block_size": 64}
    plain |= {"trace_idle_gap_cap_seconds": 1e9}
    loader.weka_config = SimpleNamespace(**plain, use_static_model=False)
    loader.tokenizer, loader.base_seed = _Tokens(), 1
    loader._tokenized_corpus, loader._corpus_size = [1] * 4096, 4096
    found = {}
    for trace in loader._load_weka_traces():
        calls = loader._reconstruct_raw_calls(trace)
        found[trace.id] = [
            [c.call_id, c.prompt_tokens, c.completion_tokens, sum(len(m.text.split()) for m in c.messages)]
            for c in calls
        ]
    return found


def _simulated(path: Path, form: str) -> Any:
    """Dynamo's simulated replay: per session the prompts and answers it sent, in order."""
    replay = importlib.import_module("dynamo.replay")
    report = replay.run_trace_replay([str(path)], trace_format=form, trace_block_size=512, capture_per_request=True)
    found: dict[str, list[Any]] = {}
    rows = report["per_request"] if isinstance(report, dict) else report.per_request
    for row in sorted(rows, key=lambda row: row["turn_index"]):
        found.setdefault(row["session_id"], []).append([row["input_length"], row["output_length"]])
    return found


def _simulated_graph(path: Path) -> Any:
    """Dynamo's simulated replay of a graph: per request its play, conversation, lengths, dispatch and end."""
    replay = importlib.import_module("dynamo.replay")
    size = json.loads(path.read_text().partition("\n")[0])["block_size"]
    options = {"trace_format": "agentic_mooncake", "execution_model": "any", "capture_per_request": True}
    report = replay.run_trace_replay([str(path)], trace_block_size=size, **options)
    keys = ("play_id", "session_id", "input_length", "output_length", "dispatched_at_ms", "terminal_time_ms")
    return {row["request_id"]: [row[key] for key in keys] for row in report.per_request}


def main(form: str, path: Path) -> Any:
    if form == "dynamo-agentic":
        return _simulated_graph(path)
    if form.startswith("dynamo-"):
        return _simulated(path, form.removeprefix("dynamo-"))
    if form == "mooncake":
        return _conversations(_rows("mooncake_trace", "MooncakeTraceDatasetLoader", 512, path))
    if form == "bailian":
        return _conversations(_rows("bailian_trace", "BailianTraceDatasetLoader", 16, path))
    if form == "dag":
        return _conversations(importlib.import_module("aiperf.dataset.loader.dag_jsonl").DagJsonlLoader(path).load())
    return _weka_models(path) if form == "weka-models" else _weka_calls(path)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))

"""Run by any Python that has torch and transformers, and nothing else: serves a small model of random weights.

    python torch_server.py PORT [cuda|cpu]

`/v1/completions` with token ids, streamed, one request computed at a time; prompts share a prefix cache of blocks.
The model is what the machine is given: a gigabyte of weights on a GPU, a few megabytes on a CPU. Names of torch and
transformers are imported by string, so that this file is checked like any other.
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

MODEL: Final = "random"
BLOCK_TOKENS: Final = 64
_KEPT_PROMPTS: Final = 8
_VOCABULARY: Final = 129_280
_SHAPES: Final = {
    "cuda": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 8, "num_attention_heads": 16},
    "cpu": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2},
}


class Model:
    """`generate` is for one thread at a time."""

    def __init__(self, device: str) -> None:
        self._torch: Any = importlib.import_module("torch")
        transformers: Any = importlib.import_module("transformers")
        self._device = device
        shape = {**_SHAPES[device], "num_key_value_heads": _SHAPES[device]["num_attention_heads"] // 2}
        config = transformers.LlamaConfig(
            vocab_size=_VOCABULARY, max_position_embeddings=131_072, tie_word_embeddings=True, **shape
        )
        self._torch.manual_seed(0)
        dtype = self._torch.bfloat16 if device == "cuda" else self._torch.float32
        self._model = transformers.LlamaForCausalLM(config).to(device=device, dtype=dtype).eval()
        self._kept: list[tuple[list[int], Any]] = []  # prompts and their keys and values, newest last

    def generate(self, prompt: list[int], tokens: int) -> Iterator[int]:
        """The number of cached prompt tokens, then the ids of the answer."""
        found, cached = self._reuse(prompt)
        yield cached
        with self._torch.inference_mode():
            answer = self._step(prompt[cached:], found)
            self._keep(prompt, answer.past_key_values)
            for number in range(tokens):
                chosen = int(answer.logits[0, -1].argmax())
                yield chosen
                if number + 1 < tokens:
                    answer = self._step([chosen], answer.past_key_values)

    def _step(self, ids: list[int], past: Any) -> Any:
        given = self._torch.tensor([ids], device=self._device)
        return self._model(input_ids=given, past_key_values=past, use_cache=True, logits_to_keep=1)

    def _reuse(self, prompt: list[int]) -> tuple[Any, int]:
        """Keys and values of the longest known beginning in whole blocks; the last token is always computed."""
        best, length = None, 0
        for known, past in self._kept:
            shared = 0
            most = min(len(known), len(prompt) - 1)
            while shared + BLOCK_TOKENS <= most and (
                known[shared : shared + BLOCK_TOKENS] == prompt[shared : shared + BLOCK_TOKENS]
            ):
                shared += BLOCK_TOKENS
            if shared > length:
                best, length = past, shared
        if best is None:
            return None, 0
        past = copy.deepcopy(best)
        past.crop(length)
        return past, length

    def _keep(self, prompt: list[int], past: Any) -> None:
        self._kept = [*self._kept[1 - _KEPT_PROMPTS :], (prompt, copy.deepcopy(past))]


def answer(model: Model, asked: dict[str, Any]) -> Iterator[bytes]:
    """The events of a streamed completion."""
    prompt, tokens = asked["prompt"], asked["max_tokens"]
    made = model.generate(prompt, tokens)
    cached = next(made)
    for number, token in enumerate(made):
        finish = "length" if number + 1 == tokens else None
        yield _event({"choices": [{"index": 0, "text": f"<{token}>", "finish_reason": finish}]})
    usage = {
        "prompt_tokens": len(prompt),
        "completion_tokens": tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    yield _event({"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"object": "text_completion", "model": MODEL, **value}).encode() + b"\n\n"


def serve(port: int, device: str) -> None:
    model, computing = Model(device), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            card = {"id": MODEL, "object": "model", "owned_by": f"torch on {device}"}
            body = json.dumps({"object": "list", "data": [card]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()  # the connection's end is the answer's
            with computing:
                for event in answer(model, asked):
                    self.wfile.write(event)
                    self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])

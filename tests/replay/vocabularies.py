"""Tokenizers of the models people replay against, from development packages; all work without a network."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpus.tokenizer import load_tokenizer
from replay.content_cells import Tokenizer
from replay.content_pool import Pool, build_pool

NAMES = ("deepseek-v4", "qwen-3", "qwen-3.5", "glm-4.7-flash", "minimax-m3", "o200k")


class O200k:
    """GPT's vocabulary, which comes as no tokenizer.json."""

    name = "o200k"

    def __init__(self) -> None:
        import bpe_openai  # type: ignore[import-untyped]  # it has no types

        self._encoding: Any = bpe_openai.get_encoding("o200k_base")

    def encode(self, text: str) -> NDArray[np.uint32]:
        return np.array(self._encoding.encode(text), dtype=np.uint32)

    def lowercase_words(self) -> list[str]:
        entries = (self._encoding.decode_single_token_bytes(token) for token in range(199_000))
        return [entry[1:].decode() for entry in entries if re.fullmatch(rb" [a-z]{2,}", entry)]

    def token_text(self, token: int) -> str:
        text: bytes = self._encoding.decode_single_token_bytes(token)
        return text.decode(errors="ignore")


@cache
def tokenizer_of(name: str) -> Tokenizer:
    return O200k() if name == "o200k" else load_tokenizer(name, fast=False)


@cache
def pool_of(name: str) -> Pool:
    return build_pool(tokenizer_of(name))

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from numpy.typing import NDArray

from anonymize.audit.canaries import REFUSED, canary_exchanges, search_folder
from anonymize.session import anonymize_session
from corpus.card import Card
from corpus.tables import write_corpus
from tests.anonymize.exchanges import KEY, WordTokenizer, anonymize

WORDS = ["quill000vexjumbogryphon", "quill001vexjumbogryphon"]
TOKENS = [11_000, 11_001, 11_002, 11_003, 11_004]


class Spelled(WordTokenizer):
    """The second canary is five tokens."""

    def encode(self, text: str) -> NDArray[np.uint32]:
        return np.array(TOKENS if text == WORDS[1] else [1, 2, 3], dtype=np.uint32)


def test_every_canary_is_captured_in_some_field_and_all_exchanges_but_one_are_kept() -> None:
    exchanges, words = canary_exchanges()
    assert len(set(words)) == len(words) > 100
    everything = b" ".join(
        repr(part).encode() + part.body for one in exchanges for part in (one.request, one.response) if part is not None
    )
    shown = [word for word in words if word.encode() in everything]
    hidden = [word for word in set(words) - set(shown) if base64.b64encode(word.encode()) not in everything]
    assert hidden == []
    done = anonymize(exchanges)
    assert done.session is not None
    assert len(done.session.requests) == len(exchanges) - REFUSED == 4
    assert done.rejected == {"error": REFUSED}
    assert [request.api for request in done.session.requests][2:] == ["openai-responses-ws"] * 2
    before, after = done.session.requests[2:]
    assert after.input_tokens > before.input_tokens, "made whole, with what the turn before said"


def test_no_canary_comes_out_of_a_session(tmp_path: Path) -> None:
    exchanges, words = canary_exchanges()
    tokenizer = WordTokenizer()
    made = anonymize_session(
        exchanges, number=0, tokenizer=tokenizer, block_size=64, max_input_tokens=10**6, keep_aux=True, key=KEY
    )
    assert made.session is not None
    write_corpus(tmp_path / "corpus", [made.session], Card("agentreel 0.1.0"))
    assert list(search_folder(tmp_path, words, tokenizer)) == []


def packed(path: Path, text: str) -> None:
    path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))


@pytest.mark.parametrize(
    "plant",
    [
        lambda folder, word: (folder / "log.txt").write_text(f"read {word}"),
        lambda folder, word: (folder / "log.txt").write_text(word.upper()),
        lambda folder, word: (folder / "log.txt").write_text(base64.b64encode(b"x" + word.encode()).decode()),
        lambda folder, word: (folder / f"{word}.txt").touch(),
        lambda folder, word: packed(folder / "s.piece", f'{{"rows": "{word}"}}'),
        lambda folder, word: pq.write_table(pa.table({"stop": [None, word]}), folder / "t.parquet"),
        lambda folder, word: pq.write_table(pa.table({"l": [[{"w": word}], []]}), folder / "t.parquet"),
        lambda folder, word: pq.write_table(pa.table({"ids": [[7, *TOKENS], [8]]}), folder / "t.parquet"),
    ],
)
def test_a_planted_canary_is_found_wherever_it_hides(tmp_path: Path, plant: Callable[[Path, str], object]) -> None:
    plant(tmp_path, WORDS[1])
    assert list(search_folder(tmp_path, WORDS, Spelled()))


def test_a_clean_folder_is_clean(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ids": [[1, 2], []], "stop": ["end_turn", None]}), tmp_path / "t.parquet")
    (tmp_path / "log.txt").write_text("nothing")
    assert list(search_folder(tmp_path, WORDS, Spelled())) == []

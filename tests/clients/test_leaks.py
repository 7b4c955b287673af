"""The search finds a word in every disguise, so that finding nothing means something."""

from __future__ import annotations

import base64
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.clients.leaks import contents, disguises, find_words

WORD = "Numbat-3f9a1c"


@pytest.mark.parametrize(
    ("disguise", "data"),
    [
        ("plain", b"x" + WORD.encode() + b"y"),
        ("plain", WORD.upper().encode()),
        ("reversed", WORD[::-1].encode()),
        ("hex", WORD.encode().hex().upper().encode()),
        ("utf-16-le", f"x{WORD}y".encode("utf-16-le")),
        ("utf-16-be", f"x{WORD}y".encode("utf-16-be")),
    ],
)
def test_every_disguise_is_seen_through(disguise: str, data: bytes) -> None:
    assert f"p: {WORD} ({disguise})" in find_words([WORD], [("p", data)])


@pytest.mark.parametrize("length", [11, 12, 13])
@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"abc", b"abcd"])
@pytest.mark.parametrize("after", [b"", b"y", b"yz", b"yzw"])
def test_base64_is_seen_through_at_every_alignment(length: int, before: bytes, after: bytes) -> None:
    word = "Quokka-81d20e"[:length]
    (found,) = find_words([word], [("p", base64.b64encode(before + word.encode() + after))])
    assert found == f"p: {word} (base64+{len(before) % 3})"


def test_disguises_keep_most_of_the_word() -> None:
    assert min(map(len, disguises(WORD).values())) >= len(WORD)


def test_packed_columns_and_file_names_are_searched(tmp_path: Path) -> None:
    table = pa.table({"a": [[{"b": f"say {WORD}"}]] * 50, "c": list(range(50))})
    pq.write_table(table, tmp_path / "t.parquet", compression="zstd", write_statistics=False)
    (tmp_path / f"{WORD}.txt").write_text("nothing")
    found = find_words([WORD], contents(tmp_path))
    assert f"t.parquet column a: {WORD} (plain)" in found
    assert f"name of {WORD}.txt: {WORD} (plain)" in found


def test_other_words_are_not_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Numbat-3f9a1d is another word")
    assert find_words([WORD], contents(tmp_path)) == []

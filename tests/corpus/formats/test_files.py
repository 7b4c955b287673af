from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from corpus.errors import InputError
from corpus.formats.files import kind_of, opened, read_head, read_value, read_values

Pack = Callable[[bytes], bytes]
PACKS: dict[str, Pack] = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("suffix", PACKS)
def test_lines_are_read_alike_whatever_packs_them(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(PACKS[suffix](b'{"a": 1}\n\n[2]\n'))
    assert list(read_values(path)) == [(f"{path}: line 1", {"a": 1}), (f"{path}: line 3", [2])]
    assert kind_of(path) == ".jsonl"
    assert read_head(path).startswith(b'{"a"')


def test_content_not_the_name_says_how_it_is_packed(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(gzip.compress(b"[1]"))
    (tmp_path / "b.json.gz").write_bytes(b"[2]")
    assert [read_value(tmp_path / name) for name in ("a.json", "b.json.gz")] == [[1], [2]]


def test_several_zstd_frames_and_gzip_members_are_one_file(tmp_path: Path) -> None:
    for suffix in (".gz", ".zst"):
        path = tmp_path / f"a.jsonl{suffix}"
        path.write_bytes(PACKS[suffix](b"[1]\n") + PACKS[suffix](b"[2]\n"))
        assert [value for _, value in read_values(path)] == [[1], [2]]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("cut", [6, 20, 0.5, 0.9])
def test_cut_or_damaged_packing_is_one_line_that_names_the_file(tmp_path: Path, suffix: str, cut: float) -> None:
    whole = PACKS[suffix](b"".join(b'{"a": %d}\n' % (n * n * 7919 % 1000003) for n in range(50000)))
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(whole[: int(cut if cut > 1 else cut * len(whole))])
    with pytest.raises(InputError, match=r"a\.jsonl\.\w+: (line \d+: is broken JSON|cannot be decompressed)"):
        list(read_values(path))


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gone: does not exist"), opened(tmp_path / "gone"):
        pass
    with pytest.raises(InputError, match="cannot be read"), opened(tmp_path):
        pass
    assert read_head(tmp_path / "gone") == b""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pytest

from corpus.card import CARD_NAME, Card, read_card, write_card
from corpus.errors import InputError


def test_card_comes_back_equal(tmp_path: Path, card: Card) -> None:
    write_card(tmp_path, card)
    assert read_card(tmp_path) == card


def test_folder_without_a_card_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no corpus"):
        read_card(tmp_path)


def test_other_version_is_named_and_refused(tmp_path: Path, card: Card) -> None:
    changed(tmp_path, card, version=1)
    with pytest.raises(InputError, match=r"card\.json: version 1, this agentreel reads version 2"):
        read_card(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"counts": {"requests": "4"}},
        {"rejected": [1]},
        {"block_size": True},
        {"fingerprint": None},
        {"extra": 1},
        {"policy": "x"},
        {"audit": {"T2": 1}},
    ],
)
def test_wrong_types_and_unknown_keys_are_refused(tmp_path: Path, card: Card, change: dict[str, Any]) -> None:
    changed(tmp_path, card, **change)
    with pytest.raises(InputError, match=r"wrong type|unknown keys"):
        read_card(tmp_path)


def test_cards_written_before_audits_were_kept_are_read_as_the_owners(tmp_path: Path, card: Card) -> None:
    values = asdict(card)
    del values["policy"], values["audit"]
    (tmp_path / CARD_NAME).write_bytes(orjson.dumps(values))
    assert read_card(tmp_path) == card


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff"])
def test_broken_card_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / CARD_NAME).write_bytes(text)
    with pytest.raises(InputError, match=r"card\.json: is"):
        read_card(tmp_path)


def changed(folder: Path, card: Card, **values: Any) -> None:
    (folder / CARD_NAME).write_bytes(orjson.dumps({**asdict(card), **values}))

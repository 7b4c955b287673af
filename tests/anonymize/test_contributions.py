from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.contributions import (
    Contributions,
    HeadNumbers,
    contributions_path,
    read_contributions,
    write_contributions,
)
from anonymize.heads import Head
from corpus.errors import InputError

KNOWN = Contributions((0, None, 1), (((1, 0, 6),), (), ((1, 0, 4), (9, 4, 2))))


type Given = tuple[int, list[int]]  # who, and the words of the blocks 1, 2, 3, ...


def head(person: int, words: list[int]) -> Head:
    return Head(f"{person:032x}", {number: f"{word:032x}" for number, word in enumerate(words, 1)})


@given(st.lists(st.none() | st.tuples(st.integers(0, 3), st.lists(st.integers(0, 9), unique=True)), max_size=8))
def test_blocks_have_something_in_common_when_two_people_sent_them(given_heads: list[Given | None]) -> None:
    heads = [None if one is None else head(*one) for one in given_heads]
    numbers = HeadNumbers()
    for one in heads:
        numbers.add(one)
    known = numbers.contributions()
    people: dict[str, set[str]] = {}
    for one in filter(None, heads):
        for digest in one.blocks.values():
            people.setdefault(digest, set()).add(one.contributor)
    meant: dict[int, str] = {}
    for session, one in enumerate(heads):
        blocks, common = one.blocks if one else {}, known.common_blocks(session)
        assert set(common) == {block for block, digest in blocks.items() if len(people[digest]) > 1}
        assert all(meant.setdefault(number, blocks[block]) == blocks[block] for block, number in common.items())
    assert len(set(meant.values())) == len(meant)
    assert sorted(meant) == list(range(len(meant)))


def test_one_person_alone_leaves_nothing() -> None:
    numbers = HeadNumbers()
    for _ in range(9):
        numbers.add(Head("a" * 32, {1: "b" * 32}))
    assert numbers.contributions() == Contributions()


def test_what_is_known_lies_beside_the_corpus_for_its_owner_alone(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    write_contributions(corpus, KNOWN, "f" * 32)
    path = contributions_path(corpus)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_contributions(corpus, "f" * 32) == KNOWN
    write_contributions(corpus, Contributions(), "e" * 32)
    assert not path.exists()
    assert read_contributions(corpus, "e" * 32) == Contributions()
    assert Contributions().contributor(3) is None
    assert Contributions().common_blocks(3) == {}


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"format": "agentreel-contributions-1"}', b'{"format": "other"}'])
def test_a_broken_file_is_refused(tmp_path: Path, content: bytes) -> None:
    contributions_path(tmp_path / "c").write_bytes(content)
    with pytest.raises(InputError, match="build the corpus again"):
        read_contributions(tmp_path / "c", "f" * 32)


def test_the_file_of_another_corpus_is_refused(tmp_path: Path) -> None:
    write_contributions(tmp_path / "c", KNOWN, "f" * 32)
    with pytest.raises(InputError, match="another corpus"):
        read_contributions(tmp_path / "c", "0" * 32)

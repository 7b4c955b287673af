from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anonymize.digests import BlockChains, block_numbers

Tokens = NDArray[np.uint32]
SIZE = 4

prompts = st.lists(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=5), min_size=1, max_size=8
)


def chains(key: int = 0) -> BlockChains:
    return BlockChains(bytes([key]) * 32, "0" * 64, SIZE)


class Feeder:
    """Gives equal segments equal numbers, as the memo does."""

    def __init__(self, chain: BlockChains) -> None:
        self.chain = chain
        self.handles: dict[tuple[int, ...], int] = {}

    def blocks(self, segments: list[list[int]], model: str = "m") -> list[int]:
        handles = [self.handles.setdefault(tuple(one), len(self.handles)) for one in segments]
        places = self.chain.known(model, handles)
        for number in range(len(places) - 1, len(handles)):
            places.append(self.chain.grow(places[-1], handles[number], "user", array(segments[number])))
        assert places[-1].total == sum(map(len, segments))
        assert [place.cut for place in places[1:]] == [("user", len(one)) for one in segments]
        numbers: list[int] = block_numbers(places).tolist()
        return numbers


def array(tokens: list[int]) -> Tokens:
    return np.array(tokens, dtype=np.uint32)


def common(one: list[int], other: list[int]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@given(prompts)
def test_a_shared_prefix_of_n_tokens_is_exactly_n_over_size_equal_numbers(lists: list[list[list[int]]]) -> None:
    feeder = Feeder(chains())
    numbers = [feeder.blocks(segments) for segments in lists]
    flat = [[token for segment in segments for token in segment] for segments in lists]
    for i, one in enumerate(flat):
        assert len(numbers[i]) == len(one) // SIZE
        for j, other in enumerate(flat[:i]):
            assert common(numbers[i], numbers[j]) == min(
                common(one, other) // SIZE, len(one) // SIZE, len(other) // SIZE
            )


@given(prompts)
def test_numbers_are_one_two_three_by_first_appearance(lists: list[list[list[int]]]) -> None:
    feeder = Feeder(chains())
    seen = dict.fromkeys(number for segments in lists for number in feeder.blocks(segments))
    assert list(seen) == list(range(1, len(seen) + 1))


@given(prompts)
def test_two_keys_give_the_same_numbers(lists: list[list[list[int]]]) -> None:
    one, other = Feeder(chains(1)), Feeder(chains(2))
    assert [one.blocks(segments) for segments in lists] == [other.blocks(segments) for segments in lists]


def test_only_blocks_behind_the_known_prefix_are_hashed() -> None:
    feeder = Feeder(chains())
    history = [[number] * SIZE for number in range(50)]
    feeder.blocks(history)
    assert feeder.chain.hashed == 50
    feeder.blocks([*history, [7] * SIZE * 2])
    assert feeder.chain.hashed == 52
    feeder.blocks([*history[:20], [9] * SIZE])
    assert feeder.chain.hashed == 53


def test_another_model_starts_a_new_chain() -> None:
    feeder = Feeder(chains())
    assert feeder.blocks([[1] * SIZE], "a") == [1]
    assert feeder.blocks([[1] * SIZE], "b") == [2]
    assert feeder.blocks([[1] * SIZE], "a") == [1]


def test_the_same_block_behind_another_prefix_has_another_number() -> None:
    feeder = Feeder(chains())
    assert feeder.blocks([[1] * SIZE, [5] * SIZE]) == [1, 2]
    assert feeder.blocks([[2] * SIZE, [5] * SIZE]) == [3, 4]


def test_known_segments_are_counted_from_the_front() -> None:
    feeder = Feeder(chains())
    feeder.blocks([[1], [2]])
    assert [len(feeder.chain.known(model, handles)) - 1 for model, handles in (("m", [0, 1, 2]), ("m", [1, 0]))] == [
        2,
        0,
    ]
    assert len(feeder.chain.known("other", [0, 1])) == 1


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        BlockChains(b"short", "0" * 64, SIZE)

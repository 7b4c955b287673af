from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.prefix_cache import PrefixCache

type Key = tuple[int, ...]  # the path from the root: chained, and its parent can be seen


def chain(prompt: tuple[int, ...]) -> list[Key]:
    return [prompt[: end + 1] for end in range(len(prompt))]


class Model:
    """Brute force: each block knows when it was last used; the oldest block without children goes."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self.used: dict[Key, tuple[int, int]] = {}
        self.now = 0

    def touch(self, keys: list[Key]) -> None:
        self.now += 1
        for key in keys:
            self.used[key] = (self.now, -len(key))

    def match(self, keys: list[Key]) -> int:
        hits = next((i for i, key in enumerate(keys) if key not in self.used), len(keys))
        self.touch(keys[:hits])
        return hits

    def insert(self, keys: list[Key]) -> None:
        self.touch(keys if self.capacity is None else keys[: self.capacity])
        while self.capacity is not None and len(self.used) > self.capacity:
            parents = {key[:-1] for key in self.used}
            leaves = [key for key in self.used if key not in parents]
            del self.used[min(leaves, key=self.used.__getitem__)]


prompts = st.lists(st.integers(0, 1), max_size=6).map(tuple)
operations = st.lists(st.tuples(st.sampled_from(["match", "insert"]), prompts), max_size=60)


@settings(max_examples=300)
@given(st.none() | st.integers(0, 12), operations)
def test_equals_brute_force(capacity: int | None, steps: list[tuple[str, tuple[int, ...]]]) -> None:
    cache, model = PrefixCache(capacity), Model(capacity)
    for operation, prompt in steps:
        keys = chain(prompt)
        if operation == "match":
            assert cache.match(keys) == model.match(keys)
        else:
            cache.insert(keys)
            model.insert(keys)
        assert set(cache._blocks) == set(model.used)
        assert all(key[:-1] in {(), *model.used} for key in model.used), "a child outlived its parent"
        assert capacity is None or len(cache) <= capacity


def test_the_longest_unused_prompt_goes_first_and_its_tail_before_its_head() -> None:
    cache = PrefixCache(6)
    cache.insert(["a1", "a2", "a3"])
    cache.insert(["b1", "b2"])
    cache.insert(["c1", "c2", "c3"])
    assert cache.match(["b1", "b2"]) == 2
    assert cache.match(["a1", "a2", "a3"]) == 1


def test_a_match_leaves_the_tail_first_in_line() -> None:
    cache = PrefixCache(3)
    cache.insert(["a1", "a2", "a3"])
    assert cache.match(["a1", "a2", "a3"]) == 3
    cache.insert(["b1"])
    assert cache.match(["a1", "a2", "a3"]) == 2


def test_a_match_keeps_blocks_alive() -> None:
    cache = PrefixCache(4)
    cache.insert(["a1", "a2"])
    cache.insert(["b1", "b2"])
    assert cache.match(["a1", "a2"]) == 2
    cache.insert(["c1", "c2"])
    assert cache.match(["a1", "a2"]) == 2
    assert cache.match(["b1", "b2"]) == 0


def test_a_prompt_longer_than_the_cache_keeps_its_head() -> None:
    cache = PrefixCache(3)
    cache.insert(["a1", "a2", "a3", "a4", "a5"])
    assert len(cache) == 3
    assert cache.match(["a1", "a2", "a3", "a4", "a5"]) == 3


def test_hits_end_at_the_first_missing_block() -> None:
    cache = PrefixCache(None)
    cache.insert(["a1", "a2", "a3"])
    assert cache.match(["a1", "x2", "a3"]) == 1
    assert cache.match([]) == 0


def test_without_limit_nothing_goes_and_without_room_nothing_stays() -> None:
    endless, none = PrefixCache(None), PrefixCache(0)
    for cache in (endless, none):
        cache.insert(list(range(10_000)))
    assert (len(endless), len(none)) == (10_000, 0)
    with pytest.raises(ValueError, match="capacity_blocks"):
        PrefixCache(-1)

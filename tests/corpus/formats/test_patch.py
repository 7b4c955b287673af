from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from corpus.formats.patch import apply_patch, patch_between

objects = st.dictionaries(
    st.sampled_from("abc"), st.none() | st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=1)
)


@given(objects, objects)
def test_patch_turns_one_into_the_other(found: dict[str, Any], rebuilt: dict[str, Any]) -> None:
    assert apply_patch(patch_between(found, rebuilt), rebuilt) == found


def test_equal_objects_need_none() -> None:
    assert patch_between({"a": 1}, {"a": 1.0}) == {}

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.capture.key_shapes import PLACEHOLDER, without_keys

A = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
KEYS = [
    f"sk-ant-api03-{A}",
    f"sk-proj-{A}",
    "AKIAIOSFODNN7EXAMPLE",
    f"ghp_{A}",
    f"github_pat_{A}",
    f"glpat-{A}",
    f"AIza{A}",
    f"ya29.{A}",
    f"hf_{A}",
    f"npm_{A}",
    "xoxb-123456789012-abcdefABCDEF",
    f"eyJ{A}.eyJ{A}.{A}",
    f"-----BEGIN RSA PRIVATE KEY-----\\n{A}\\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY-----\n{A}",
    f"Authorization: Bearer {A}",
    f"authorization: basic {base64.b64encode(A.encode()).decode()}",
]


@pytest.mark.parametrize("key", KEYS)
def test_keys_go_wherever_they_stand(key: str) -> None:
    inner = f"before {key} behind"
    for hidden in (inner, base64.b64encode(inner.encode()).decode(), base64.urlsafe_b64encode(inner.encode()).decode()):
        clean, count = without_keys({"a": ["x", hidden, 1, None], hidden: True})
        assert count >= 2
        said = repr(clean)
        assert A not in said
        assert key not in said
        assert hidden not in said
        kept = clean["a"][1]
        assert "before" in (kept if hidden is inner else base64.b64decode(kept).decode())


def test_what_is_no_key_stays() -> None:
    image = base64.b64encode(bytes(range(256)) * 20).decode()
    value = {"text": "ask-me-anything-about-it, task-queue, sky", "image": image, "n": 1.5, "t": (1, "a"), "k": "sk-x"}
    clean, count = without_keys(value)
    assert count == 0
    assert clean == value | {"t": [1, "a"]}


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON)
def test_any_value_comes_through(value: Any) -> None:
    clean, count = without_keys(value)
    assert count or clean == value


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_a_key_inside_bytes_that_are_sent_as_base64_goes(before: bytes, behind: bytes) -> None:
    hidden = base64.b64encode(before + b" " + KEYS[0].encode() + b" " + behind).decode()
    clean, count = without_keys(hidden)
    assert count >= 1
    assert KEYS[0].encode() not in base64.b64decode(clean)
    assert PLACEHOLDER.encode() in base64.b64decode(clean)

"""Deltas and identifiers."""

from hypothesis import given
from hypothesis import strategies as st

from standin.events import Names, pieces


@given(st.text(), st.integers(1, 50))
def test_pieces_join_to_the_text(text: str, size: int) -> None:
    cut = list(pieces(text, size))
    assert "".join(cut) == text
    assert all(0 < len(piece) <= size for piece in cut)


def test_names_follow_the_seed() -> None:
    assert Names("a").make("x_", 10, 1) == Names("a").make("x_", 10, 1) != Names("b").make("x_", 10, 1)
    assert len(Names("a").opaque(400)) == 400

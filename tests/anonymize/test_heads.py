from __future__ import annotations

from anonymize.heads import Contributor
from corpus.blocks import expand_blocks
from tests.anonymize.contributed import HARNESS, exchanges_of, marked


def test_blocks_of_equal_heads_have_equal_marks_in_every_session() -> None:
    one, mine = marked(exchanges_of("ann", HARNESS, "hi", "more"))
    _, yours = marked(exchanges_of("bob", HARNESS, "something else"))
    assert mine is not None
    assert yours is not None
    assert mine.blocks == yours.blocks
    assert mine.contributor != yours.contributor
    first = expand_blocks([request.blocks for request in one.requests])[0].tolist()
    assert list(mine.blocks) == first[: len(mine.blocks)]
    assert len(mine.blocks) == 6, "whole blocks of the system prompt alone"


def test_marks_stop_where_heads_differ_and_are_of_another_chain_for_another_key() -> None:
    private = HARNESS + "and my own orders " * 40
    _, plain = marked(exchanges_of("ann", HARNESS, "hi"))
    _, longer = marked(exchanges_of("bob", private, "hi"))
    assert plain is not None
    assert longer is not None
    common = set(plain.blocks.values()) & set(longer.blocks.values())
    assert len(common) == len(plain.blocks) < len(longer.blocks)
    _, other = marked(exchanges_of("ann", HARNESS, "hi"), key=b"d" * 32)
    assert other is not None
    assert not set(other.blocks.values()) & set(plain.blocks.values())
    assert other.contributor != plain.contributor


def test_marking_changes_no_number() -> None:
    exchanges = exchanges_of("ann", HARNESS, "hi", "more", "and more")
    session, _ = marked(exchanges)
    other, _ = marked(exchanges, key=b"d" * 32)
    assert session == other


def test_a_session_of_nobody_is_not_marked() -> None:
    assert marked(exchanges_of(None, HARNESS, "hi"))[1] is None


def test_a_session_of_several_people_counts_for_the_first() -> None:
    contributor = Contributor()
    sent = [one for person in (None, "ann", "bob") for one in exchanges_of(person, "", "a")]
    heard = list(contributor.heard(sent))
    assert contributor.name == "ann"
    assert len(heard) == 3

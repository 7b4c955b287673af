from __future__ import annotations

from typing import get_args

from corpus.session import Role
from wire.shapes import Answer, Part, PartKind


def test_part_kinds_are_the_corpus_roles_and_billing() -> None:
    assert {kind for part in get_args(PartKind) for kind in get_args(part)} == {*get_args(Role), "billing"}


def test_private_words_do_not_show_in_a_log_line() -> None:
    shown = repr(Part("user", "my secret", 0, "user", digest="abcdef"))
    assert "secret" not in shown
    assert "abcdef" not in shown


def test_answer_of_nothing_is_incomplete_and_unknown() -> None:
    assert Answer() == Answer(None, None, None, None, (), None, complete=False)

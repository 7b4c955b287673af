from __future__ import annotations

import pytest

from wire.prose import kind_of_role, prose


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        ("user", "hi", "user"),
        ("assistant", "hi", "assistant"),
        ("system", "hi", "system"),
        ("developer", "hi", "system"),
        ("someone-new", "hi", "user"),
        ("user", "<system-reminder>\nx\n</system-reminder>", "reminder"),
        ("user", "\n <system-reminder>x", "reminder"),
        ("system", "<system-reminder>x", "reminder"),
        ("assistant", "<system-reminder>x", "assistant"),
        ("user", "see <system-reminder>", "user"),
    ],
)
def test_kind_follows_role_and_opening(role: str, text: str, kind: str) -> None:
    (part,) = prose(text, 4, role, name="n")
    assert (part.kind, part.text, part.message, part.role, part.name) == (kind, text, 4, role, "n")


def test_empty_text_is_no_part() -> None:
    assert prose("", 0, "user") == []


def test_unknown_role_counts_as_user() -> None:
    assert kind_of_role("critic") == "user"

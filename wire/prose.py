"""Text blocks: which kind of part a text is, decided from the role it was sent under and how it begins."""

from __future__ import annotations

from typing import Final

from wire.shapes import Part, PartKind

_KIND_OF_ROLE: Final[dict[str, PartKind]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_REMINDER: Final = "<system-reminder>"  # Claude Code wraps what the harness, not the person, puts into a message


def kind_of_role(role: str) -> PartKind:
    return _KIND_OF_ROLE.get(role, "user")


def prose(text: str, message: int, role: str, *, name: str | None = None) -> list[Part]:
    """One text block as at most one part: an empty block says nothing, and equals no block at all."""
    if not text:
        return []
    kind = kind_of_role(role)
    if kind != "assistant" and text[:64].lstrip().startswith(_REMINDER):
        kind = "reminder"
    return [Part(kind, text, message, role, name=name)]

"""What looks like somebody's key, and text without it: for captures that leave the recorder's directory.

Bodies are evidence and stay as they were said in the store; a copy for another program has no need of the keys that a
tool result or a prompt happened to hold. Shapes are those that issuers document for their keys; whatever has one goes,
also inside of base64. What has no shape (a password) cannot be told from other words.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

SHAPES: Final[dict[str, str]] = {
    "Anthropic, OpenAI and many others": r"sk-[A-Za-z0-9_-]{16,}",
    "Amazon": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "GitHub": r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
    "GitLab": r"glpat-[A-Za-z0-9_-]{16,}",
    "Google": r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}",
    "Hugging Face": r"hf_[A-Za-z0-9]{24,}",
    "npm": r"npm_[A-Za-z0-9]{30,}",
    "Slack": r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    "JSON web token": r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+",
    "PEM": r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    "header": r"(?i:(?:bearer|basic) +)[A-Za-z0-9_.~+/-]{16,}=*",
}
PLACEHOLDER: Final = "<key left out>"

_KEY: Final = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(SHAPES.values()) + ")", re.DOTALL)
_MAX_DEPTH: Final = 3  # base64 inside of base64
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}|[A-Za-z0-9_-]{24,}={0,2}")


def without_keys(value: Any) -> tuple[Any, int]:
    """A JSON value with its keys left out of all strings (names of members included), and how many they were."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        names, one = without_keys(list(value))
        members, other = without_keys(list(value.values()))
        return dict(zip(names, members, strict=True)), one + other
    if isinstance(value, list | tuple):
        pairs = [without_keys(member) for member in value]
        return [member for member, _ in pairs], sum(count for _, count in pairs)
    return value, 0


def _text(text: str, depth: int = 0) -> tuple[str, int]:
    text, count = _KEY.subn(PLACEHOLDER, text)
    hidden = 0

    def look_inside(run: re.Match[str]) -> str:
        nonlocal hidden
        cleaned, found = _text(_decoded(run[0]).decode("latin-1"), depth + 1)
        hidden += found
        return base64.b64encode(cleaned.encode("latin-1")).decode() if found else run[0]

    return (_BASE64.sub(look_inside, text) if depth < _MAX_DEPTH else text), count + hidden


def _decoded(run: str) -> bytes:
    """What base64, of either alphabet, stands for; what is over after whole groups of four is left out."""
    digits = run.rstrip("=").replace("-", "+").replace("_", "/")
    digits = digits[: len(digits) - 1] if len(digits) % 4 == 1 else digits
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4))
    except binascii.Error:
        return b""

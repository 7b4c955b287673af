"""What may be stored of a request's or response's head. Bodies are evidence and kept as they are; heads carry secrets.

An allow-list decides, not a deny-list: every deny-list we looked at had missed something. A header outside the list is
stored as its name and the size of its value; credentials, cookies, account and organisation ids are never on the list,
and no prefix or digest of them is kept. Query values go by name (and by shape, for keys in odd places), because no list
of all harmless query parameters exists. On the paths that carry credentials or telemetry nothing but method, path and
status is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote_plus

from corpus.exchange import Headers

# Names whose values are stored. Both directions share the list.
STORED_HEADERS: Final[frozenset[str]] = frozenset(
    {
        # what the bytes are
        "accept",
        "accept-encoding",
        "content-encoding",
        "content-length",
        "content-type",
        "transfer-encoding",
        # who speaks
        "originator",
        "user-agent",
        "version",
        "x-app",
        # protocol versions and switches
        "anthropic-beta",
        "anthropic-version",
        "openai-beta",
        "openai-model",
        "openai-version",
        "x-codex-beta-features",
        "x-openai-internal-codex-responses-lite",
        "x-openai-memgen-request",
        # sessions, agents, turns: Claude Code
        "x-cc-compaction-request",
        "x-claude-1p-request-class",
        "x-claude-code-agent-id",
        "x-claude-code-agent-type",
        "x-claude-code-auxiliary-type",
        "x-claude-code-compaction",
        "x-claude-code-context-compacted",
        "x-claude-code-parent-agent-id",
        "x-claude-code-prev-tool-durations",
        "x-claude-code-prompt-id",
        "x-claude-code-request-class",
        "x-claude-code-session-id",
        "x-client-request-id",
        # sessions, agents, turns: Codex
        "conversation_id",
        "session-id",
        "session_id",
        "thread-id",
        "x-codex-parent-thread-id",
        "x-codex-turn-metadata",
        "x-codex-window-id",
        "x-openai-subagent",
        # sessions of other agents
        "x-opencode-client",
        "x-opencode-request",
        "x-opencode-session",
        "x-parent-session-id",
        "x-session-affinity",
        "x-session-id",
        "x-task-id",
        "x-title",
        # answers
        "date",
        "openai-processing-ms",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "server",
        "x-models-etag",
        "x-request-id",
        "x-should-retry",
    }
)
STORED_HEADER_FAMILIES: Final[tuple[str, ...]] = ("anthropic-ratelimit-", "x-ratelimit-", "x-stainless-")

# A query value is dropped when its decoded name holds one of these, or is exactly one of those, ...
_SECRET_NAME: Final = re.compile(
    r"key|token|secret|signature|sig$|passw|pwd|credential|auth|session|cookie|jwt|assertion|^code$|^state$|^nonce$"
    r"|^x-amz-|^x-goog-",
    re.IGNORECASE,
)
# ... or when the value itself looks like a credential: provider keys, JSON web tokens, bearer values.
_SECRET_SHAPE: Final = re.compile(r"^(sk-|xox|gh[pousr]_|AKIA|ya29\.|AIza|eyJ|bearer\b)", re.IGNORECASE)

# Paths of which only method, path and status are stored: sign-in, and the client's own telemetry.
_SIGN_IN: Final[frozenset[str]] = frozenset({"oauth", "oauth2", "login"})
_TELEMETRY: Final[frozenset[str]] = frozenset({"event_logging", "analytics-events", "metrics", "telemetry"})


def stored_headers(fields: Iterable[tuple[bytes, bytes]]) -> Headers:
    """`fields` as on the wire, order, case and duplicates kept; values outside the list become "<n bytes>"."""
    return tuple((_text(name), _text(value) if _is_stored(_text(name)) else _size(value)) for name, value in fields)


def stored_path(target: str) -> str:
    """The request target with secret-looking query values replaced by "<n bytes>"; no query at all on private paths."""
    path, mark, query = target.partition("?")
    if not mark or is_private(target):
        return path
    return f"{path}?" + "&".join(_stored_pair(pair) for pair in query.split("&"))


def is_private(target: str) -> bool:
    """Whether nothing but method, path and status of this request may be stored."""
    return not (_SIGN_IN | _TELEMETRY).isdisjoint(_segments(target))


def is_telemetry(target: str) -> bool:
    """Whether a request tells the client's maker about the client: of no use here, and passed by the forward proxy."""
    return not _TELEMETRY.isdisjoint(_segments(target))


def _segments(target: str) -> list[str]:
    return target.partition("?")[0].lower().split("/")


def _is_stored(name: str) -> bool:
    lower = name.lower()
    return lower in STORED_HEADERS or lower.startswith(STORED_HEADER_FAMILIES)


def _stored_pair(pair: str) -> str:
    name, mark, value = pair.partition("=")
    secret = _SECRET_NAME.search(unquote_plus(name)) or _SECRET_SHAPE.match(unquote_plus(value))
    if mark:
        return f"{name}={_size(value.encode())}" if secret else pair
    return _size(name.encode()) if _SECRET_SHAPE.match(unquote_plus(name)) else pair


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _size(value: bytes) -> str:
    return f"<{len(value)} bytes>"

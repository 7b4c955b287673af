"""Which provider protocol a request speaks, decided from its method and path alone.

The path's last segments decide, so any base URL or prefix in front of them works. Anything the table does not know
is `other`: it is passed on and recorded, but never parsed.
"""

from __future__ import annotations

from typing import Final, Literal

Api = Literal["anthropic-messages", "openai-responses", "openai-responses-ws", "openai-chat", "other"]

# (method, end of the path without query) -> api
_ROUTES: Final[tuple[tuple[str, str, Api], ...]] = (
    ("POST", "/v1/messages", "anthropic-messages"),
    ("POST", "/v1/messages/count_tokens", "anthropic-messages"),
    ("POST", "/responses", "openai-responses"),
    ("GET", "/responses", "openai-responses-ws"),  # the upgrade request
    ("POST", "/chat/completions", "openai-chat"),
)


def api_of(method: str, path: str) -> Api:
    """The protocol of one request; `path` may carry a query, which is ignored."""
    bare = path.split("?", 1)[0].rstrip("/")
    for route_method, ending, api in _ROUTES:
        if method.upper() == route_method and bare.endswith(ending):
            return api
    return "other"

"""Which upstream a request goes to and under which path; the client never names it, only the configuration does.

A listener speaks for one provider. Its base URL is what a client is told to use: the anthropic listener's has no path
(clients append `/v1/messages`), the openai listener's ends in `/v1` (clients append `/responses`), as the providers'
own base URLs do. So on the openai listener the client's leading `/v1` stands for the path of the upstream's base URL.
An upstream without any path is a server's root: the client's path is used as it is. A path is never doubled
(`/v1/v1`), and joining adds no `//`; what the client itself wrote in its path stays.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from corpus.errors import InputError

Provider = Literal["anthropic", "openai"]

ANTHROPIC_UPSTREAM: Final = "https://api.anthropic.com"
OPENAI_UPSTREAM: Final = "https://api.openai.com/v1"
CHATGPT_UPSTREAM: Final = "https://chatgpt.com/backend-api/codex"

# A Codex signed in with a ChatGPT account sends this header; the account is served by another host than the API key.
CHATGPT_HEADER: Final = "chatgpt-account-id"

BASE_PATH: Final[dict[Provider, str]] = {"anthropic": "", "openai": "/v1"}


@dataclass(frozen=True, slots=True)
class Upstream:
    scheme: Literal["http", "https"]
    host: str
    port: int
    path: str  # no trailing slash; "" for a server's root

    @property
    def authority(self) -> str:
        """The Host header's value: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


@dataclass(frozen=True, slots=True)
class Upstreams:
    anthropic: Upstream
    openai: Upstream
    chatgpt: Upstream

    def choose(self, provider: Provider, header_names: Container[str], target: bytes) -> Upstream:
        """`header_names` tells by lower-case name whether a header is there; `target` is the raw path and query."""
        if provider == "anthropic":
            return self.anthropic
        if CHATGPT_HEADER in header_names:
            return self.chatgpt
        inside = [_is_inside(provider, one.path.encode(), target) for one in (self.chatgpt, self.openai)]
        return self.chatgpt if inside == [True, False] else self.openai  # some of its side calls lack the header


def parse_upstream(url: str, option: str) -> Upstream:
    """`option` names the setting in the error; raises InputError."""
    hint = "give a base URL such as https://host or http://127.0.0.1:9000/v1"
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname or ""
        host.encode("idna")
    except ValueError as error:
        raise InputError(option, f"{url!r} is no usable URL", hint) from error
    if parts.scheme not in _DEFAULT_PORT or not host:
        raise InputError(option, f"{url!r} is no http or https URL", hint)
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(option, "a base URL has no user name, query or fragment", hint)
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    return Upstream(scheme, host, port or _DEFAULT_PORT[scheme], parts.path.rstrip("/"))


def join_path(provider: Provider, upstream: Upstream, target: bytes) -> bytes:
    """The request target (path and query, raw) to send for the client's `target`."""
    base = upstream.path.encode()
    if not base or not target.startswith(b"/"):
        return target
    shared = BASE_PATH[provider] or ("/v1" if upstream.path.endswith("/v1") else "")
    rest = _without_prefix(target, shared.encode())
    if rest is target and _is_inside(provider, base, target):
        return target
    return base + rest


def _is_inside(provider: Provider, base: bytes, target: bytes) -> bool:
    """Whether the client named the upstream's own path already; on the openai listener its first folder will do, for
    a ChatGPT login has calls beside the model's (`/backend-api/wham/...`).
    """
    if not base:
        return False
    folder = base if provider == "anthropic" else b"/" + base.split(b"/")[1]
    return target.startswith(folder + b"/")


def _without_prefix(target: bytes, prefix: bytes) -> bytes:
    """`target` itself when it does not begin so."""
    rest = target[len(prefix) :]
    if prefix and target.startswith(prefix) and (not rest or rest[:1] in b"/?"):
        return rest
    return target


_DEFAULT_PORT: Final[dict[str, int]] = {"http": 80, "https": 443}

"""Who may use a listener: access tokens, and names and origins that only a browser misled by a web page would send.

A token comes in a header or as a prefix of the path (`/t/<token>/v1/messages`), because every agent can be given a base
URL but not every one a header; a forward proxy's comes as the password of the proxy. Comparing takes the same time
whatever was sent. A token's name is the contributor: private, kept with what it sent, so that it can be counted and
withdrawn.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corpus.errors import InputError

TOKEN_HEADER: Final = "x-agentreel-token"  # noqa: S105 - a name, no token
RECORD_HEADER: Final = "x-agentreel-record"
PATH_MARK: Final = b"/t/"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~-]{16,256}")  # what stands in a path as it is; 16: nothing to guess
_OFF: Final = frozenset({"off", "no", "false", "0"})


class Tokens:
    """Names by token. Holds digests only, so that a dump of the process's objects shows no token."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = [(_digest(token.encode()), name) for token, name in names.items()]

    def name_of(self, token: bytes) -> str | None:
        """None for a token nobody has; every known one is compared with, in full."""
        given, found = _digest(token), None
        for known, name in self._names:
            if hmac.compare_digest(given, known):
                found = name
        return found


def _digest(token: bytes) -> bytes:
    return hashlib.blake2b(token, digest_size=32).digest()


def read_tokens(path: Path) -> Tokens:
    """From lines `name: token`; InputError when the file is unusable, or readable by others."""
    try:
        mode = path.stat().st_mode
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(path, f"cannot be read as a token file ({reason})") from error
    if mode & 0o077:
        raise InputError(path, "can be read by others", f"chmod 600 {path}")
    names: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, token = (part.strip() for part in line.partition(":"))
        if not _NAME.fullmatch(name) or not _TOKEN.fullmatch(token):
            hint = "write `name: token`, the token 16 to 256 letters, digits and . _ ~ -"
            raise InputError(f"{path} line {number}", "is no name with a token", hint)
        if token in names:
            raise InputError(f"{path} line {number}", f"has the same token as {names[token]!r}", "one token each")
        names[token] = name
    if not names:
        raise InputError(path, "holds no token", "write lines like `name: token`")
    return Tokens(names)


@dataclass(frozen=True, slots=True)
class PathToken:
    """A request target without its token prefix, and the token; None when it has none."""

    target: bytes
    token: bytes | None


def split_path_token(target: bytes) -> PathToken:
    if not target.startswith(PATH_MARK):
        return PathToken(target, None)
    token, mark, rest = target[len(PATH_MARK) :].partition(b"/")
    if not mark:
        token, mark, rest = token.partition(b"?")
        return PathToken(b"/" + mark + rest, token)
    return PathToken(b"/" + rest, token)


def proxy_password(authorization: str) -> bytes | None:
    """The password of a Basic, or the value of a Bearer, Proxy-Authorization header."""
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode()
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(value.strip(), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return None


def is_own_host(host_header: str | None, names: frozenset[str]) -> bool:
    """Whether a Host header means this machine by an address, by `localhost` or by one of `names` (lower case).

    A web page that had its own name resolved to this machine (DNS rebinding) sends its own name.
    """
    host = (host_header or "").strip().lower()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    if host in names or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_from_web_page(origin: str | None, fetch_site: str | None) -> bool:
    """Whether a browser says that a page of some site makes this request. Agents send no web origin."""
    if fetch_site is not None and fetch_site.lower() in ("cross-site", "same-site"):
        return True
    return origin is not None and (origin == "null" or origin.lower().startswith(("http:", "https:")))


def opts_out(record_header: str | None) -> bool:
    return record_header is not None and record_header.strip().lower() in _OFF

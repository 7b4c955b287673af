"""Each scenario is recorded once, on first use; all tests look at what came of it."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from corpus.card import Card, read_card
from corpus.tables import write_corpus
from tests.clients.chain import Recorded, record
from tests.clients.programs import PREFIX, UnavailableError, installed
from tests.proxy.certificates import make_authority, server_context


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    try:
        return installed()
    except UnavailableError as missing:
        pytest.skip(f"the real clients cannot be had: {missing}")


@pytest.fixture(scope="session")
def recorded(
    programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Recorded]]:
    """Leaves the sessions without a terminal behind as one corpus, for `make test-engines` to replay."""
    done: dict[str, Recorded | Exception] = {}

    def get(name: str) -> Recorded:
        if name not in done:
            try:
                done[name] = record(name, programs, tmp_path_factory.mktemp(name, numbered=False))
            except Exception as err:  # noqa: BLE001 - the same failure for every test of this scenario, at once
                done[name] = err
        found = done[name]
        if isinstance(found, Exception):
            raise found
        return found

    yield get
    kept = [done[name] for name in sorted(done)]
    leave_corpus([found for found in kept if isinstance(found, Recorded) and not found.scenario.typed])


def leave_corpus(found: list[Recorded]) -> None:
    if found:
        card = read_card(found[0].outputs / "corpus")
        sessions = [replace(one.session, session=number) for number, one in enumerate(found)]
        made = Card(card.created_by, card.tokenizer, card.tokenizer_sha256, card.block_size)
        write_corpus(PREFIX / "corpus", sessions, made, force=True)


@pytest.fixture
def provider_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The recorder trusts the provider's authority, as it does in life; clients do not know it."""
    authority = make_authority(tmp_path / "upstream-ca")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    return server_context(authority.parent)

"""Each scenario is recorded once, on first use; all tests look at what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.chain import Recorded, record
from tests.clients.programs import UnavailableError, installed


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    try:
        return installed()
    except UnavailableError as missing:
        pytest.skip(f"the real clients cannot be had: {missing}")


@pytest.fixture(scope="session")
def recorded(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recorded]:
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

    return get

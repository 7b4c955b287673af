from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.s3 import BUCKET, point_at, running_s3

settings.register_profile("any machine", deadline=None)  # a busy machine is no failure
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    with running_s3() as address:
        yield address


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a folder of one's own on an S3 server."""
    point_at(s3_server, monkeypatch)
    return f"s3://{BUCKET}/{secrets.token_hex(6)}"

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpus.capture.reader import open_captures
from corpus.exchange import Exchange
from proxy.recorder import RecordSettings, RecordTotals, RunningRecorder, start_recorder
from tests.proxy.loopback import Upstream

with warnings.catch_warnings():  # mitmproxy imports ldap3, which uses deprecated names of pyasn1
    warnings.simplefilter("ignore", DeprecationWarning)
    import mitmproxy.addons  # noqa: F401


class Recording:
    """A running recorder whose providers are all one scripted upstream."""

    def __init__(self, recorder: RunningRecorder, upstream: Upstream, captures: Path) -> None:
        self.recorder = recorder
        self.upstream = upstream
        self.captures = captures

    @property
    def url(self) -> str:
        return self.recorder.anthropic_url

    @property
    def urls(self) -> dict[str, str]:
        """Base URL by provider."""
        return {"anthropic": self.recorder.anthropic_url, "openai": self.recorder.openai_url}

    def stop(self) -> RecordTotals:
        return self.recorder.stop()

    def exchanges(self) -> list[Exchange]:
        """Stops, and reads what was stored."""
        self.stop()
        captures = open_captures(self.captures)
        exchanges = list(captures.exchanges())
        assert captures.damage == []
        return exchanges

    def only_exchange(self) -> Exchange:
        (exchange,) = self.exchanges()
        return exchange


Record = Callable[..., Recording]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def record(upstream: Upstream, tmp_path: Path) -> Iterator[Record]:
    """Starts recorders; keyword arguments are RecordSettings fields."""
    started: list[Recording] = []

    def start(**changes: object) -> Recording:
        captures = tmp_path / "captures"
        settings: dict[str, object] = {
            "captures": captures,
            "anthropic_port": 0,
            "openai_port": 0,
            "anthropic_upstream": upstream.url,
            "openai_upstream": f"{upstream.url}/v1",
            "chatgpt_upstream": f"{upstream.url}/backend-api/codex",
            "grace_s": 0.0,
        }
        recorder = start_recorder(RecordSettings(**(settings | changes)))  # type: ignore[arg-type]
        started.append(Recording(recorder, upstream, captures))
        return started[-1]

    yield start
    for recording in started:
        recording.stop()


@pytest.fixture
def recording(record: Record) -> Recording:
    return record()

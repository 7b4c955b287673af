"""Real clients' requests, recorded by others, as request records; absent in a plain checkout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from corpus.exchange import Identity, RequestRecord
from proxy.heard import gather
from proxy.identity import identify_heard
from proxy.redaction import stored_headers, stored_path
from wire.api import api_of
from wire.facts import peek_request

CAPTURES = Path(__file__).resolve().parents[2].parent / "shared" / "captures"

needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason=f"no captures of real clients at {CAPTURES}")


def claude_requests(scenario: str) -> list[RequestRecord]:
    """All requests in order of arrival; bodies as compact JSON, the way the client sends them."""
    blobs = _claude_blobs()

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            return blobs[value["$blob"]] if "$blob" in value else {key: whole(item) for key, item in value.items()}
        return [whole(item) for item in value] if isinstance(value, list) else value

    lines = _lines(CAPTURES / "claude-code" / f"{scenario}.jsonl")
    return [_record(line, line["path"], whole(line.get("body"))) for line in lines]


def codex_requests(scenario: str) -> list[RequestRecord]:
    lines = _lines(CAPTURES / "codex" / f"{scenario}.jsonl")
    return [_record(line, line["path"], line["body"]) for line in lines if line["kind"] == "request"]


def codex_scenarios() -> list[str]:
    return sorted(path.stem for path in (CAPTURES / "codex").glob("*.jsonl"))


def claude_scenarios() -> list[str]:
    return sorted(path.stem for path in (CAPTURES / "claude-code").glob("*.jsonl"))


def identity_of(record: RequestRecord) -> Identity:
    return identify_heard(gather(record, record.body, peek_request(record.api, record.body)))


@cache
def _claude_blobs() -> dict[str, Any]:
    blobs: dict[str, Any] = json.loads((CAPTURES / "claude-code" / "blobs.json").read_text())
    return blobs


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text().splitlines())


def _record(line: dict[str, Any], path: str, body: object) -> RequestRecord:
    data = b"" if body is None else json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    fields = [(name.encode(), value.encode()) for name, value in line["headers"]]
    return RequestRecord(
        exchange_id=str(line.get("seq", line.get("n"))),
        t_request_us=0,
        t_body_us=0,
        method=line["method"],
        path=stored_path(path),
        api=api_of(line["method"], path),
        upstream="",
        headers=stored_headers(fields),
        identity=Identity(),
        retry_of=None,
        body_bytes=len(data),
        body=data,
    )

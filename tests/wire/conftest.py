"""Recorded traffic of real clients, when it lies beside the checkout; bodies rebuilt as they were sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

CAPTURES = Path(__file__).resolve().parents[2].parent / "shared" / "captures"


@dataclass(frozen=True)
class Recorded:
    """One request to a model with its answer, as far as either was recorded."""

    scenario: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes
    status: int | None
    events: list[dict[str, Any]]
    answer: dict[str, Any] | None  # a JSON answer


@pytest.fixture(scope="session")
def claude_code() -> list[Recorded]:
    return list(_claude_code(_folder("claude-code")))


@pytest.fixture(scope="session")
def codex() -> list[Recorded]:
    return list(_codex(_folder("codex")))


def _folder(name: str) -> Path:
    folder = CAPTURES / name
    if not folder.is_dir():
        pytest.skip(f"no recorded traffic at {folder}")
    return folder


def _claude_code(folder: Path) -> Iterator[Recorded]:
    blobs = json.loads((folder / "blobs.json").read_text())

    def restored(value: Any) -> Any:
        if isinstance(value, dict):
            return blobs[value["$blob"]] if "$blob" in value else {key: restored(v) for key, v in value.items()}
        return [restored(member) for member in value] if isinstance(value, list) else value

    for path in sorted(folder.glob("*.jsonl")):
        for record in map(json.loads, path.read_text().splitlines()):
            if record["method"] != "POST" or not record["path"].startswith("/v1/messages"):
                continue
            body, response = restored(record["body"]), record["resp"]
            yield Recorded(
                scenario=path.stem,
                headers={name.lower(): value for name, value in record["headers"]},
                body=body,
                raw=json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(),
                status=response["status"],
                events=[event for _, event in response["events"] or []],
                answer=response.get("body") if isinstance(response.get("body"), dict) else None,
            )


def _codex(folder: Path) -> Iterator[Recorded]:
    for path in sorted(folder.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        answers = {record["req"]: record for record in records if record["kind"] == "response"}
        for record in records:
            body = record.get("body")
            if record["kind"] in {"request", "ws_in"} and isinstance(body, dict) and "input" in body:
                answer = answers.get(record["n"], {}) if record["kind"] == "request" else {}
                yield _codex_recorded(path.stem, record, answer)
        for record in records:
            if record["kind"] == "ws_out" and record.get("events"):
                yield Recorded(path.stem, {}, {}, b"", None, record["events"], None)


def _codex_recorded(scenario: str, record: dict[str, Any], answer: dict[str, Any]) -> Recorded:
    return Recorded(
        scenario=scenario,
        headers={"transport": "http" if record["kind"] == "request" else "websocket"},
        body=record["body"],
        raw=orjson.dumps(record["body"]),
        status=answer.get("status"),
        events=answer.get("events") or [],
        answer=answer.get("body"),
    )

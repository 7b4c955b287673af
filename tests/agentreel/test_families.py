from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from agentreel.families import family_exchanges, session_families
from corpus.capture.reader import Captures, open_captures
from corpus.capture.writer import CaptureWriter
from corpus.exchange import Exchange, Identity
from tests.anonymize.exchanges import assistant, claude_answer, claude_body, exchange, user

HELLO = claude_answer({"type": "text", "text": "hello"})
START = [user("hi")]
LATER = [*START, assistant("hello"), user("and now")]


def turn(at: float, session_id: str | None, messages: list[Any]) -> Exchange:
    identity = Identity(session_id=session_id, purpose="turn")
    return exchange(at, claude_body(messages), HELLO, identity=identity)


def captured(folder: Path, *exchanges: Exchange) -> Captures:
    writer = CaptureWriter(folder / "captures", "w")
    for one in exchanges:
        writer.write_request(one.request)
        if one.response is not None:
            writer.write_response(one.request.identity.session_id, one.response)
    writer.close()
    return open_captures(folder / "captures")


def test_a_fork_stands_with_its_origin_and_everything_else_alone(tmp_path: Path) -> None:
    probe = turn(0, None, START)
    made = (probe, turn(1, "a", START), turn(2, "other", [user("ho")]), turn(3, "b", LATER), turn(4, "a", LATER))
    assert session_families(captured(tmp_path, *made)) == [(None,), ("a", "b"), ("other",)]


def test_a_familys_exchanges_come_by_time_as_those_of_one_session(tmp_path: Path) -> None:
    captures = captured(tmp_path, turn(1, "a", START), turn(3, "b", LATER), turn(4, "a", LATER))
    found = list(family_exchanges(captures, ("a", "b")))
    assert [one.request.t_request_us for one in found] == [1_000_000, 3_000_000, 4_000_000]
    assert [one.request.identity.agent_kind for one in found] == ["main", "fork", "main"]
    bare = list(family_exchanges(captures, ("a", "b"), bodies=False))
    assert [one.request for one in bare] == [replace(one.request, body=b"") for one in found]

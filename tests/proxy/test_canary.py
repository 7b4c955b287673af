"""Planted secrets go in by every door; then all that was written is searched, in every form a secret could take."""

from __future__ import annotations

import base64
import gzip
import logging
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from agentreel.__main__ import main
from corpus.capture.reader import open_captures, verify_captures
from corpus.capture.recovery import Frame, read_frames
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import Client, RawRequest, answer_with

CANARY = "canary5ecre7-0123456789abcdef"
TOKEN = "t0ken-" + CANARY
HEADERS = (
    f"Authorization: Bearer {CANARY}",
    f"Proxy-Authorization: Basic {base64.b64encode(CANARY.encode()).decode()}",
    f"x-api-key: sk-ant-{CANARY}",
    f"api-key: {CANARY}",
    f"X-Goog-Api-Key: {CANARY}",
    f"x-amz-security-token: {CANARY}",
    f"Cookie: session={CANARY}; other={CANARY}",
    f"chatgpt-account-id: {CANARY}",
    f"openai-organization: {CANARY}",
    f"anthropic-organization-id: {CANARY}",
    f"x-some-new-header: {CANARY}",
    f"{CANARY}: odd",
)
ANSWER = (
    f"HTTP/1.1 401 Unauthorized\r\nSet-Cookie: a={CANARY}\r\nWWW-Authenticate: Bearer {CANARY}\r\n"
    f"x-codex-turn-state: {CANARY}\r\nLocation: https://x/?code={CANARY}\r\nContent-Length: 2\r\n\r\n{{}}"
).encode()
SIGN_IN = f"HTTP/1.1 200 OK\r\nContent-Length: {len(CANARY)}\r\n\r\n{CANARY}".encode()


def tell_by_every_door(recording: Recording) -> int:
    """Requests that reached the upstream."""
    recording.upstream.answer = lambda connection, request: connection.sendall(
        SIGN_IN if b"oauth" in request.line or b"event_logging" in request.line else ANSWER
    )
    paths = (
        f"/t/{TOKEN}/v1/responses?key={CANARY}&access_token={CANARY}&code={CANARY}&X-Amz-Signature={CANARY}",
        f"/t/{TOKEN}/v1/messages?tag=sk-{CANARY}&sk-{CANARY}",
        f"/t/{TOKEN}/v1/oauth/token?x={CANARY}",
        f"/t/{TOKEN}/api/event_logging/batch",
    )
    for path in paths:
        body = CANARY.encode() if "oauth" in path or "event_logging" in path else b'{"model":"m"}'
        with Client(recording.recorder.openai_url) as client:
            client.post(path, body, HEADERS[:-1])
            client.response()
    with Client(recording.recorder.openai_url) as client:  # the same by header, compressed
        client.post(
            "/v1/oauth/token",
            gzip.compress(CANARY.encode()),
            ("content-encoding: gzip", f"x-agentreel-token: {TOKEN}"),
        )
        client.response()
    return len(paths) + 1


def fail_by_every_door(recording: Recording) -> None:
    """Error paths: wrong tokens, refusals, broken protocol, an upstream that hangs up, a client that does."""
    for sent in (
        f"POST /t/wrong-{CANARY}/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        f"POST /t/{TOKEN}/v1/messages HTTP/1.1\r\nHost: {CANARY}.example\r\nContent-Length: 0\r\n\r\n",
        f"POST /t/{TOKEN}/v1 HTTP/1.1\r\nHost: localhost\r\nOrigin: https://{CANARY}\r\nContent-Length: 0\r\n\r\n",
        f"CONNECT {CANARY}:443 HTTP/1.1\r\nHost: {CANARY}\r\n\r\n",
        f"GET http://user:{CANARY}@host/t/{TOKEN}/x?key={CANARY} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        f"GET http://{CANARY}.example/t/{TOKEN}/x?key={CANARY} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        f"{CANARY} {CANARY}\r\nAuthorization: {CANARY}\r\n\r\n",
        f"GET / HTTP/1.1\r\nbroken {CANARY}\r\n\r\n",
        f"POST /t/{TOKEN}/v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: {CANARY}\r\nContent-Length: 9\r\n\r\n",
        f"\x16\x03\x01{CANARY}",
    ):
        with Client(recording.url) as client:
            client.send(sent.encode("latin-1"))
            client.socket.shutdown(1)
            client.read_all()

    def hang_up(_connection: object, _request: RawRequest) -> None:
        raise EOFError

    recording.upstream.answer = hang_up
    with Client(recording.url) as client:
        client.post(f"/t/{TOKEN}/v1/messages?key={CANARY}", headers=HEADERS[:-1])
        client.response()


def forms() -> Iterator[bytes]:
    """As it is, half of it, in any alignment of base64, in hex, percent-encoded."""
    raw = CANARY.encode()
    yield from (raw, raw[:12], raw[8:], raw.hex().encode(), "".join(f"%{byte:02X}" for byte in raw).encode())
    for shift in range(3):
        yield base64.b64encode(b"x" * shift + raw)[4:-4]


def everything_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file as it lies there, and every record in it, its body also uncompressed."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield file.name, file.read_bytes()
        if file.suffix == ".segment":
            for frame in read_frames(file.read_bytes()):
                assert isinstance(frame, Frame)
                for record in frame.records:
                    yield file.name, record.meta
                    yield file.name, record.body
                    if record.body[:2] == b"\x1f\x8b":
                        yield file.name, gzip.decompress(record.body)


@pytest.fixture
def guarded(record: Record, tmp_path: Path) -> Recording:
    tokens = tmp_path / "private" / "tokens"
    tokens.parent.mkdir()
    tokens.write_text(f"ada: {TOKEN}\n")
    tokens.chmod(0o600)
    return record(token_file=tokens, status_port=0)


def test_no_secret_is_found_in_store_index_logs_pages_or_exports(
    guarded: Recording, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    told = tell_by_every_door(guarded)
    heard = [guarded.upstream.next_request() for _ in range(told)]
    assert all(TOKEN.encode() not in request.head for request in heard)
    assert all(b"proxy-authorization" not in request.head.lower() for request in heard)
    assert all(CANARY.encode() in request.head for request in heard[:-1])  # what belongs to the upstream reached it
    fail_by_every_door(guarded)
    url = guarded.recorder.listening.status_url
    assert url is not None
    pages = [urllib.request.urlopen(url + path, timeout=30).read() for path in ("/", "/metrics", "/status.json")]
    totals = guarded.stop()
    assert totals.refused == {"400": 1, "401": 1, "403": 2}

    verify_captures(guarded.captures)
    assert len(list(open_captures(guarded.captures).exchanges())) >= told + 2
    for form in ("--har", "--jsonl"):
        with pytest.raises(SystemExit, match="0"):
            main(["captures", "export", str(guarded.captures), form, "-o", str(guarded.captures / f"out{form}")])
    with pytest.raises(SystemExit, match="0"):
        main(["captures", "ls", str(guarded.captures), "--json"])
    said = capfd.readouterr()
    places = [("page", page) for page in pages]
    places += [("stdout", said.out.encode()), ("stderr", said.err.encode()), ("log", caplog.text.encode())]
    found = [
        (place, form)
        for place, content in [*everything_in(guarded.captures), *places]
        for form in forms()
        if form in content
    ]
    assert found == []
    assert {path.name for path in guarded.captures.iterdir()} >= {"index.sqlite", "out--har", "out--jsonl"}


def test_keys_in_bodies_stay_in_the_store_and_out_of_exports(
    recording: Recording, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Tool results hold what people have lying about; it is evidence here, and nobody else's business."""
    key = f"sk-ant-api03-{CANARY}"
    inside = base64.b64encode(f"export KEY={key}".encode()).decode()
    said = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": f"{key} and {inside}"}]})
    answer = gzip.compress(said)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(answer)}\r\n\r\n".encode()
    recording.upstream.answer = answer_with(head + answer)
    for body, headers in ((said, ()), (gzip.compress(said), ("Content-Encoding: gzip",)), (b"\xff\0 " + said, ())):
        with Client(recording.url) as client:
            client.post("/v1/messages", body, headers)
            client.response()
    recording.stop()
    assert any(key.encode() in content for _, content in everything_in(recording.captures))
    for form in ("--har", "--jsonl"):
        out = tmp_path / f"out{form}"
        with pytest.raises(SystemExit, match="0"):
            main(["captures", "export", str(recording.captures), form, "-o", str(out)])
        assert [form for form in forms() if form in out.read_bytes()] == []
        assert b"left out" in out.read_bytes()
        assert "12 strings that look like keys were left out" in capfd.readouterr().err


def test_the_search_would_find_a_stored_secret(guarded: Recording) -> None:
    """A canary in a message body is evidence, is stored, and shows that looking works."""
    with Client(guarded.url) as client:
        client.post(f"/t/{TOKEN}/v1/messages", base64.b64encode(b"xx" + CANARY.encode()))
        client.response()
    guarded.stop()
    assert any(form in content for _, content in everything_in(guarded.captures) for form in forms())

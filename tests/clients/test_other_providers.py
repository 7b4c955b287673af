"""Real clients that reach their model by another road: Bedrock, Vertex, a ChatGPT login. All pass byte for byte; what
the recorder does not read is kept as `other`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import re
import secrets
import socket
import ssl
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from corpus.exchange import Exchange
from tests.clients.forward import forward, through
from tests.clients.gate import closed_gate
from tests.clients.leaks import contents, find_words
from tests.clients.person import someone
from tests.clients.provider import NO_UPGRADE, NOTHING, claude_answer, codex_answer, heard, json_answer, say
from tests.clients.words import recorded_texts, unpacked_segments
from tests.proxy.conftest import Recording
from tests.proxy.loopback import RawRequest, Upstream
from wire.encoding import decode_body
from wire.sse import split_sse

ANSWER = "by another road"
BEDROCK = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "us-east-1"}
STREAMED = b"/invoke-with-response-stream"


@contextlib.contextmanager
def served(context: ssl.SSLContext | None = None) -> Iterator[Upstream]:
    upstream = Upstream(context)
    try:
        yield upstream
    finally:
        upstream.close()


def bodies_match(exchanges: list[Exchange], upstream: Upstream) -> bool:
    """Whether what is recorded is what the provider got; requests at the same time may change places."""
    got = [upstream.next_request().body for _ in exchanges]
    return sorted(one.request.body for one in exchanges) == sorted(got) and upstream.requests.empty()


def everything(recording: Recording) -> list[tuple[str, bytes]]:
    """All that was stored, as it lies there and unpacked."""
    captures = recording.captures
    texts = ("everything recorded", recorded_texts(captures).encode())
    return [*unpacked_segments(captures), *contents(captures), texts]


def event_stream(stream: bytes) -> bytes:
    """Server-sent events as Amazon's event stream: frames with checksums, the events in base64 in JSON."""

    def text(name: str, value: str) -> bytes:
        return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()

    out = b""
    head = text(":event-type", "chunk") + text(":content-type", "application/json") + text(":message-type", "event")
    for event in split_sse(stream):
        payload = orjson.dumps({"bytes": base64.b64encode(event.data).decode()})
        prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
        frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
        out += frame + struct.pack(">I", zlib.crc32(frame))
    return out


def signature_holds(request: RawRequest, secret: str) -> bool:
    """Amazon's, over path, body and the headers that it names, the Host among them."""
    fields = {name.decode().lower(): " ".join(value.decode().split()) for name, value in request.headers}
    credential, names, signature = re.findall(r"=([^,]+)", fields["authorization"])
    method, target, _ = request.line.decode().split()
    path, _, query = target.partition("?")
    signed = "".join(f"{name}:{fields[name]}\n" for name in names.split(";"))
    asked = "\n".join([method, quote(path), query, signed, names, hashlib.sha256(request.body).hexdigest()])
    scope = credential.partition("/")[2]
    text = "\n".join(["AWS4-HMAC-SHA256", fields["x-amz-date"], scope, hashlib.sha256(asked.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for piece in scope.split("/"):
        key = hmac.digest(key, piece.encode(), "sha256")
    return str(signature) == hmac.digest(key, text.encode(), "sha256").hex()


def bedrock_answer(connection: socket.socket, request: RawRequest) -> None:
    stream = event_stream(b"".join(claude_answer(ANSWER)))
    if request.line.split()[1].endswith(STREAMED):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % len(stream) + stream)
    else:
        connection.sendall(NOTHING)


def check_bedrock(exchanges: list[Exchange]) -> None:
    (turn,) = (one for one in exchanges if one.request.path.endswith(STREAMED.decode()))
    assert turn.response is not None
    assert (turn.end, turn.response.body) == ("complete", event_stream(b"".join(claude_answer(ANSWER))))
    assert {(one.request.api, one.request.identity.purpose) for one in exchanges} == {("other", "other")}
    assert turn.request.identity.harness == "claude-code"
    assert turn.request.identity.session_id


def test_bedrock_with_an_api_key(programs: dict[str, Path], tmp_path: Path) -> None:
    key = secrets.token_hex(20)
    with closed_gate() as gate, served() as bedrock, heard(bedrock, tmp_path) as recording:
        bedrock.answer = bedrock_answer
        base = {"ANTHROPIC_BEDROCK_BASE_URL": recording.urls["anthropic"], "AWS_BEARER_TOKEN_BEDROCK": key}
        person = someone("claude", programs, tmp_path, recording.urls, gate.url, **BEDROCK, **base)
        assert ANSWER in person.ask("Hello?")
        exchanges = recording.exchanges()
        assert bodies_match(exchanges, bedrock)
    check_bedrock(exchanges)
    assert ("Authorization", f"<{len('Bearer ' + key)} bytes>") in exchanges[-1].request.headers
    assert find_words([key], everything(recording)) == []


def test_bedrock_with_a_signature_that_holds_through_the_forward_proxy(
    programs: dict[str, Path], provider_tls: ssl.SSLContext, tmp_path: Path
) -> None:
    """A base URL would do as well, were the Host not signed too."""
    secret, session = secrets.token_hex(20), secrets.token_hex(20)
    with (
        closed_gate() as gate,
        served(provider_tls) as bedrock,
        heard(bedrock, tmp_path, **forward(tmp_path)) as recording,
    ):
        bedrock.answer = bedrock_answer
        own = {"ANTHROPIC_BEDROCK_BASE_URL": f"https://localhost:{bedrock.port}"}
        own |= {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": session}
        own |= through(recording, tmp_path, "NODE_EXTRA_CA_CERTS")
        assert ANSWER in someone("claude", programs, tmp_path, {}, gate.url, **BEDROCK, **own).ask("Hello?")
        exchanges = recording.exchanges()
        assert all(signature_holds(bedrock.next_request(), secret) for _ in exchanges)
    check_bedrock(exchanges)
    assert {one.request.mode for one in exchanges} == {"forward"}
    assert find_words([secret, session, "AWS4-HMAC-SHA256"], everything(recording)) == []


def test_vertex(programs: dict[str, Path], tmp_path: Path) -> None:
    def answer(connection: socket.socket, request: RawRequest) -> None:
        known = request.line.split()[1].endswith(b":streamRawPredict")
        (say(claude_answer(ANSWER)) if known else json_answer(b"{}"))(connection)

    with closed_gate() as gate, served() as vertex, heard(vertex, tmp_path) as recording:
        vertex.answer = answer
        person = someone(
            *("claude", programs, tmp_path, recording.urls, gate.url),
            CLAUDE_CODE_USE_VERTEX="1",
            CLAUDE_CODE_SKIP_VERTEX_AUTH="1",
            ANTHROPIC_VERTEX_BASE_URL=recording.urls["anthropic"] + "/v1",
            ANTHROPIC_VERTEX_PROJECT_ID="p",
            CLOUD_ML_REGION="us-east5",
        )
        assert ANSWER in person.ask("Hello?")
        exchanges = recording.exchanges()
        assert bodies_match(exchanges, vertex)
    (turn,) = (one for one in exchanges if one.request.path.endswith(":streamRawPredict"))
    assert turn.request.path.startswith("/v1/projects/p/locations/us-east5/")
    assert turn.response is not None
    assert (turn.request.api, turn.end) == ("other", "complete")
    assert turn.response.body == b"".join(claude_answer(ANSWER))
    assert turn.request.identity.session_id


def sign_in(home: Path, account: str) -> None:
    """As after a ChatGPT login, with tokens that nobody signed."""

    def piece(value: object) -> str:
        return base64.urlsafe_b64encode(orjson.dumps(value)).rstrip(b"=").decode()

    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": account, "chatgpt_plan_type": "pro"}}
    token = ".".join([piece({"alg": "none"}), piece(claims | {"exp": int(time.time()) + 36_000}), "c2ln"])
    tokens = {"id_token": token, "access_token": token, "refresh_token": "none", "account_id": account}
    known = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens}
    known["last_refresh"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    (home / "codex" / "auth.json").write_bytes(orjson.dumps(known))


@pytest.mark.parametrize("side_calls_too", [False, True])
def test_codex_with_a_chatgpt_login_finds_its_own_upstream(
    side_calls_too: bool, programs: dict[str, Path], tmp_path: Path
) -> None:
    account = secrets.token_hex(12)

    def answer(connection: socket.socket, request: RawRequest) -> None:
        method, path = request.line.split()[:2]
        if b"upgrade: websocket" in request.head.lower():
            connection.sendall(NO_UPGRADE)
        elif method == b"POST" and path.endswith(b"/responses"):
            say(codex_answer(ANSWER))(connection)
        else:
            (json_answer(b'{"models":[]}') if b"/models" in path else json_answer(b"{}", b"404 Not Found"))(connection)

    with (
        closed_gate() as gate,
        served() as api,
        served() as chatgpt,
        heard(api, tmp_path, chatgpt_upstream=f"{chatgpt.url}/backend-api/codex") as recording,
    ):
        chatgpt.answer = answer
        person = someone("codex", programs, tmp_path, recording.urls, gate.url, OPENAI_API_KEY="", CODEX_API_KEY="")
        sign_in(person.home, account)
        if side_calls_too:
            config = person.home / "codex" / "config.toml"
            base = recording.urls["openai"].removesuffix("/v1") + "/backend-api/"
            config.write_text(f'chatgpt_base_url = "{base}"\n{config.read_text()}')
        assert ANSWER in person.ask("Is the post in?")
        exchanges = recording.exchanges()
        assert api.requests.empty()
        heard_there = [chatgpt.next_request() for _ in exchanges]
    paths = {raw.line.split()[1].partition(b"?")[0] for raw in heard_there}
    assert {b"/backend-api/codex/models", b"/backend-api/codex/responses"} <= paths
    assert any(path.startswith(b"/backend-api/wham/") for path in paths) == side_calls_too
    assert not any(b"//" in path or b"/v1" in path for path in paths)
    (turn,) = (one for one in exchanges if one.request.identity.purpose == "turn")
    assert dict(turn.request.headers)["content-encoding"] == "zstd"
    (sent,) = (raw.body for raw in heard_there if raw.line.startswith(b"POST /backend-api/codex/responses "))
    assert turn.request.body == sent
    assert b"Is the post in?" in decode_body(sent, "zstd")
    assert turn.request.identity.session_id
    assert turn.request.identity.model
    (models, *_) = (one for one in exchanges if one.request.path.startswith("/v1/models?"))
    assert (models.request.api, models.end) == ("other", "complete")
    assert find_words([account], everything(recording)) == []

"""Real clients through the forward proxy, set up as docs/recording.md says: a proxy and an authority, no base URL of
ours. The provider is a TLS server on loopback with a certificate of another authority.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from agentreel.process import serve_command
from standin.scripts import mark
from tests.clients.forward import forward, through
from tests.clients.gate import closed_gate
from tests.clients.person import someone
from tests.clients.provider import claude_answer, heard, play, say
from tests.clients.scenarios import last_words
from tests.clients.tls_front import tls_front
from tests.proxy.loopback import Upstream

WEBSOCKET = "openai-responses-ws"


def test_claude_code(programs: dict[str, Path], provider_tls: ssl.SSLContext, tmp_path: Path) -> None:
    provider = Upstream(provider_tls)
    play(provider, say(claude_answer("through the tunnel")))
    urls = {"anthropic": f"https://localhost:{provider.port}"}
    with closed_gate() as gate, heard(provider, tmp_path, **forward(tmp_path)) as recording:
        environment = through(recording, tmp_path, "NODE_EXTRA_CA_CERTS")
        said = someone("claude", programs, tmp_path, urls, gate.url, **environment).ask("Hello?")
        (turn,) = (one for one in recording.exchanges() if one.request.identity.purpose == "turn")
    provider.close()
    assert "through the tunnel" in said
    assert (turn.request.mode, turn.end) == ("forward", "complete")
    assert turn.request.upstream == urls["anthropic"]
    assert turn.request.identity.harness == "claude-code"
    assert turn.request.identity.session_id


@pytest.mark.parametrize("trusts", ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"])
@pytest.mark.parametrize(("offered", "api"), [("--no-websocket", "openai-responses"), ("--websocket", WEBSOCKET)])
def test_codex(
    offered: str, api: str, trusts: str, programs: dict[str, Path], provider_tls: ssl.SSLContext, tmp_path: Path
) -> None:
    with (
        closed_gate() as gate,
        serve_command(("standin", "model-api", offered, "--json"), tmp_path / "log") as model_api,
        tls_front(provider_tls, int(model_api["url"].rpartition(":")[2])) as port,
        heard(Upstream(), tmp_path, **forward(tmp_path)) as recording,
    ):
        environment = through(recording, tmp_path, trusts)
        urls = {"openai": f"https://localhost:{port}/v1"}
        said = someone("codex", programs, tmp_path, urls, gate.url, **environment).ask(f"Go. {mark('leaf')}")
        exchanges = [one for one in recording.exchanges() if one.request.upstream == f"https://localhost:{port}"]
    assert last_words("leaf") in said
    turns = [one for one in exchanges if one.request.identity.purpose == "turn"]
    assert {(one.request.mode, one.request.api, one.end) for one in turns} == {("forward", api, "complete")}
    assert [bool(one.request.previous) for one in turns] == [api == WEBSOCKET] * 3
    assert {one.request.identity.purpose for one in exchanges} == {"turn", "prewarm"}
    assert len({one.request.identity.session_id for one in exchanges}) == 1
    assert {one.request.identity.harness for one in exchanges} == {"codex"}

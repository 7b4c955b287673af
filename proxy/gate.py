"""The gate: decides of each request whether it may pass and whether it is recorded, before anything else sees it.

It comes before the hooks in mitmproxy's chain, takes off what is meant for the recorder alone (the access token, the
record switch), and leaves its verdict in the flow's metadata. A refused request is answered here and goes nowhere;
what was refused for lack of access is counted but not recorded, so that strangers can't fill the disk and a mistyped
token is not stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from mitmproxy import connection, http
from mitmproxy.proxy import mode_specs

from corpus.exchange import GapCause, Mode
from proxy.access import (
    RECORD_HEADER,
    TOKEN_HEADER,
    Tokens,
    is_from_web_page,
    is_own_host,
    opts_out,
    proxy_password,
    split_path_token,
)
from proxy.redaction import is_telemetry

_VERDICT: Final = "agentreel"

# Refused bodies are read to their end before the answer is sent; a larger one is cut off instead.
_MAX_REFUSED_BYTES: Final = 64 * 1024 * 1024

_WORDS: Final[dict[int, str]] = {
    400: "send the path only; the upstream is configured, not named by the client",
    401: f"send your access token in the header {TOKEN_HEADER}, or put /t/<token> in front of the path",
    403: "refused: the Host or Origin of this request is a web site's (allow a name with --allow-host)",
    407: "give your access token as the proxy's password",
    421: "only the hosts on the forward proxy's list are taken without a tunnel; set HTTPS_PROXY alone",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of a request that may pass, or was answered by the gate itself."""

    record: bool = True
    muted: bool = False  # recording is paused: a connection that is upgraded may still be recorded later
    contributor: str | None = None
    mode: Mode = "reverse"


def verdict_of(flow: http.HTTPFlow) -> Verdict:
    found = flow.metadata.get(_VERDICT)
    return found if isinstance(found, Verdict) else Verdict()


def is_forward(client: connection.Client) -> bool:
    return isinstance(client.proxy_mode, mode_specs.RegularMode)


class Gate:
    """The addon. `note_gap` hears of what passes unrecorded, `forward_hosts` is the forward proxy's list."""

    def __init__(
        self,
        tokens: Tokens | None,
        host_names: frozenset[str],
        forward_hosts: frozenset[str],
        note_gap: Callable[[GapCause], None],
    ) -> None:
        self.paused = False
        self.refused: Counter[int] = Counter()  # by status
        self._tokens = tokens
        self._host_names = host_names
        self._forward_hosts = forward_hosts
        self._note_gap = note_gap
        self._tunnels: dict[str, str | None] = {}  # client connection -> contributor of its CONNECT

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.error is None:
            refusal = self._judge_forward(flow) if is_forward(flow.client_conn) else self._judge_reverse(flow)
            if refusal is not None:
                self._refuse(flow, refusal)

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """A tunnel is asked for; only the forward listener's mode gets this far."""
        admitted, contributor = self._proxy_access(flow.request)
        if admitted:
            self._tunnels[flow.client_conn.id] = contributor
        else:
            self._refuse(flow, 407)

    def client_disconnected(self, client: connection.Client) -> None:
        self._tunnels.pop(client.id, None)

    def _judge_reverse(self, flow: http.HTTPFlow) -> int | None:
        request = flow.request
        admitted, contributor = self._token_access(request)
        if not admitted:
            return 401
        flow.metadata[_VERDICT] = self._admit(request, contributor)
        if request.authority:
            return 400
        headers = request.headers
        if not is_own_host(request.host_header, self._host_names):
            return 403
        return 403 if is_from_web_page(headers.get("origin"), headers.get("sec-fetch-site")) else None

    def _judge_forward(self, flow: http.HTTPFlow) -> int | None:
        request = flow.request
        contributor = self._tunnels.get(flow.client_conn.id)
        if flow.client_conn.id not in self._tunnels:
            admitted, contributor = self._proxy_access(request)
            if not admitted:
                return 407
        if request.host.lower() not in self._forward_hosts:
            return 421
        verdict = replace(self._admit(request, contributor), mode="forward")
        flow.metadata[_VERDICT] = Verdict(record=False) if is_telemetry(request.path) else verdict
        return None

    def _admit(self, request: http.Request, contributor: str | None) -> Verdict:
        out = opts_out(request.headers.get(RECORD_HEADER))
        _take_off(request, RECORD_HEADER)
        _take_off(request, "proxy-authorization")  # was meant for a proxy, and mitmproxy would pass it on
        if out:
            self._note_gap("opted_out")
        return Verdict(not out, not out and self.mutes(), contributor)

    def mutes(self) -> bool:
        """Whether an exchange that begins now is muted; each is counted."""
        if self.paused:
            self._note_gap("paused")
        return self.paused

    def _token_access(self, request: http.Request) -> tuple[bool, str | None]:
        """Whether it may pass and as whom; a token is taken off even where none is asked for."""
        given = request.headers.get_all(TOKEN_HEADER)
        _take_off(request, TOKEN_HEADER)
        if self._tokens is None:
            return True, None
        split = split_path_token(request.data.path)
        request.data.path = split.target
        candidates = [token.encode("utf-8", "surrogateescape") for token in given]
        candidates += [] if split.token is None else [split.token]
        names = {self._tokens.name_of(token) for token in candidates}
        return (True, names.pop()) if len(names) == 1 and None not in names else (False, None)

    def _proxy_access(self, request: http.Request) -> tuple[bool, str | None]:
        password = proxy_password(request.headers.get("proxy-authorization", ""))
        _take_off(request, "proxy-authorization")
        if self._tokens is None:
            return True, None
        name = None if password is None else self._tokens.name_of(password)
        return name is not None, name

    def _refuse(self, flow: http.HTTPFlow, status: int) -> None:
        self.refused[status] += 1
        if status != 400:  # the one mistake that an admitted client can make
            flow.metadata[_VERDICT] = Verdict(record=False)
        if _declared_bytes(flow.request) > _MAX_REFUSED_BYTES:
            flow.kill()  # type: ignore[no-untyped-call]  # mitmproxy is typed in part
            return
        words = f"agentreel: {_WORDS[status]}\n".encode()
        headers = {"Content-Type": "text/plain"}
        if status == 407:
            headers["Proxy-Authenticate"] = 'Basic realm="agentreel"'
        flow.response = http.Response.make(status, words, headers)


def _take_off(request: http.Request, header: str) -> None:
    if header in request.headers:
        del request.headers[header]


def _declared_bytes(request: http.Request) -> int:
    """What the body will take, as far as the head tells; a body of no told length may be endless."""
    if "transfer-encoding" in request.headers:
        return _MAX_REFUSED_BYTES + 1
    length = request.headers.get("content-length", "0")
    return int(length) if length.isdecimal() else 0

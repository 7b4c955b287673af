"""The forward proxy: for agents that take no base URL, or when one setting for all of them is wanted.

Opt-in, on loopback only. Connections to the listed hosts are opened with the recorder's own certificate authority and
recorded; every other host is tunnelled untouched and unseen, so that what else an agent does (git, package managers)
goes on working. A tunnel never leads to this machine or its private network: whoever can reach the forward port must
not reach more through it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from pathlib import Path
from typing import Final

from mitmproxy import http
from mitmproxy.proxy import layer, layers, server_hooks

from proxy.gate import is_forward
from proxy.upstreams import Upstream

# Hosts that model providers' own clients speak to. Sign-in and telemetry paths of these are dealt with by `redaction`.
FORWARD_HOSTS: Final[frozenset[str]] = frozenset(
    {
        "api.anthropic.com",
        "api.openai.com",
        "chatgpt.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
        "dashscope.aliyuncs.com",
        "portal.qwen.ai",
    }
)


def default_ca_folder() -> Path:
    """Never inside a captures folder: it holds a private key that this person's agents trust."""
    return Path.home() / ".agentreel" / "forward-ca"


class Forward:
    """The addon; comes before mitmproxy's own choice of layers."""

    def __init__(self, hosts: frozenset[str]) -> None:
        self._hosts = hosts

    def next_layer(self, chosen: layer.NextLayer) -> None:
        context = chosen.context
        if not is_forward(context.client) or context.server.address is None:
            return
        if context.server.address[0].lower() not in self._hosts and chosen.layer is None:
            chosen.layer = layers.TCPLayer(context, ignore=True)

    async def server_connect(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Looks the name up itself and connects to what it found, so that no second look-up can differ."""
        address = data.server.address
        if not is_forward(data.client) or address is None or address[0].lower() in self._hosts:
            return
        found = await _look_up(address[0], address[1])
        if found is None or not is_public(found):
            data.server.error = "not a public address"
        else:
            data.server.address = (found, address[1])


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the internet at large, seen through IPv6's ways of writing an IPv4 one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip.sixtofour or ip
    return ip.is_global and not ip.is_multicast


def forward_upstream(request: http.Request) -> Upstream:
    """Where a forwarded request goes: where the client's tunnel led, never where a header points."""
    return Upstream("https" if request.scheme == "https" else "http", request.host, request.port, "")


async def _look_up(host: str, port: int) -> str | None:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0]) if found else None

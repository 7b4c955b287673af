"""What a recorder is told, and what it refuses to start with.

Loopback is the default. Another address is reachable by others, who would see prompts pass and could use the upstreams'
accounts, so it takes both access tokens and TLS, or somebody who says that the risk is known.
"""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corpus.errors import InputError
from proxy.access import Tokens, read_tokens
from proxy.forward import FORWARD_HOSTS, default_ca_folder
from proxy.scribe import Fsync
from proxy.upstreams import ANTHROPIC_UPSTREAM, CHATGPT_UPSTREAM, OPENAI_UPSTREAM, Upstreams, parse_upstream

# Clients wait up to 354 s for response headers, and models think for longer than that without a byte.
IDLE_LIMIT_S: Final = 2 * 3600

MAX_WORKERS: Final = 64


@dataclass(frozen=True, slots=True)
class RecordSettings:
    """Port 0 is any free port, None no listener."""

    captures: Path
    host: str = "127.0.0.1"
    anthropic_port: int = 8801
    openai_port: int = 8802
    anthropic_upstream: str = ANTHROPIC_UPSTREAM
    openai_upstream: str = OPENAI_UPSTREAM
    chatgpt_upstream: str = CHATGPT_UPSTREAM
    workers: int = 1
    fsync: Fsync = "interval"
    token_file: Path | None = None
    allow_hosts: tuple[str, ...] = ()  # Host names besides addresses and localhost
    tls_cert: Path | None = None  # PEM, for clients of the two listeners
    tls_key: Path | None = None
    insecure_bind: bool = False
    forward_port: int | None = None
    forward_hosts: tuple[str, ...] = ()  # besides FORWARD_HOSTS
    forward_ca: Path | None = None  # folder; None: the default one
    status_port: int | None = None
    grace_s: float = 10.0  # for streams in flight when stopping
    idle_limit_s: int = IDLE_LIMIT_S  # of silence on a client connection before it is cut

    @property
    def forwarded(self) -> frozenset[str]:
        return FORWARD_HOSTS | {host.lower() for host in self.forward_hosts}

    @property
    def host_names(self) -> frozenset[str]:
        return frozenset({self.host.lower(), *(host.lower() for host in self.allow_hosts)})


@dataclass(frozen=True, slots=True)
class Checked:
    """What the settings' files and URLs came to."""

    upstreams: Upstreams
    tokens: Tokens | None
    tls: ssl.SSLContext | None
    ca_folder: Path | None


def check_settings(settings: RecordSettings) -> Checked:
    """InputError for what cannot be used or would be unsafe."""
    upstreams = Upstreams(
        anthropic=parse_upstream(settings.anthropic_upstream, "--anthropic-upstream"),
        openai=parse_upstream(settings.openai_upstream, "--openai-upstream"),
        chatgpt=parse_upstream(settings.chatgpt_upstream, "--chatgpt-upstream"),
    )
    ports = (("anthropic", settings.anthropic_port), ("openai", settings.openai_port))
    more = (("forward", settings.forward_port), ("status", settings.status_port))
    for name, port in (*ports, *more):
        if port is not None and not 0 <= port <= 65535:
            raise InputError(f"--{name}-port", f"{port} is no port", "give one from 1 to 65535, or 0 for any free one")
    if not 1 <= settings.workers <= MAX_WORKERS:
        raise InputError("--workers", f"{settings.workers} is not 1 to {MAX_WORKERS}", "one carries about 150 streams")
    tokens = None if settings.token_file is None else read_tokens(settings.token_file)
    tls = _server_tls(settings.tls_cert, settings.tls_key)
    _require_safe_bind(settings, tokens, tls)
    ca_folder = None if settings.forward_port is None else _checked_ca_folder(settings)
    return Checked(upstreams, tokens, tls, ca_folder)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _require_safe_bind(settings: RecordSettings, tokens: Tokens | None, tls: ssl.SSLContext | None) -> None:
    if is_loopback(settings.host) or settings.insecure_bind or (tokens and tls):
        return
    missing = " and ".join(
        option for option, there in (("--token-file", tokens), ("--tls-cert with --tls-key", tls)) if there is None
    )
    problem = f"{settings.host!r} is reachable by others, who could read along and use your accounts"
    raise InputError("--host", problem, f"use 127.0.0.1, or give {missing}, or --insecure-bind if that is meant")


def _server_tls(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise InputError("--tls-cert", "needs --tls-key, and the other way round")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(cert, f"with {key} is no usable certificate and key ({type(error).__name__})") from error
    return context


def _checked_ca_folder(settings: RecordSettings) -> Path:
    folder = settings.forward_ca or default_ca_folder()
    if folder.absolute().is_relative_to(settings.captures.absolute()):
        raise InputError("--forward-ca", "a private key does not belong into captures", "choose another folder")
    return folder

"""Throw-away certificates for tests: an authority, and a server certificate for loopback."""

from __future__ import annotations

import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from mitmproxy import certs


def make_authority(folder: Path) -> Path:
    """The authority's certificate; `server_files` finds its key."""
    certs.CertStore.from_store(folder, "ca", 2048)
    return folder / "ca-ca-cert.pem"


def server_files(folder: Path) -> tuple[Path, Path]:
    """Certificate and key, one file each, for 127.0.0.1 and localhost, signed by the authority in `folder`."""
    store = certs.CertStore.from_store(folder, "ca", 2048)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
    entry = store.get_cert("127.0.0.1", names)
    cert, key = folder / "server.pem", folder / "server.key"
    cert.write_bytes(entry.cert.to_pem())
    key.write_bytes(
        entry.privatekey.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return cert, key


def server_context(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*server_files(folder))
    return context

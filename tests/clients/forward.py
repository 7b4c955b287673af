"""The forward proxy set up as docs/recording.md says: a proxy and an authority, no base URL of ours."""

from __future__ import annotations

from pathlib import Path

from tests.proxy.conftest import Recording


def forward(folder: Path) -> dict[str, object]:
    """Settings of the recorder."""
    return {"forward_port": 0, "forward_ca": folder / "ca", "forward_hosts": ("localhost",)}


def through(recording: Recording, folder: Path, trusts: str) -> dict[str, str]:
    """Environment of a client; `trusts` names the variable in which it looks for authorities."""
    url = recording.recorder.listening.forward_url or ""
    ours = {"HTTPS_PROXY": url, "https_proxy": url, "NO_PROXY": "", "no_proxy": ""}
    return ours | {trusts: str(folder / "ca" / "agentreel-ca-cert.pem")}

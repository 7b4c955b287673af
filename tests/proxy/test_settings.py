from __future__ import annotations

from pathlib import Path

import pytest

from corpus.errors import InputError
from proxy.settings import RecordSettings, check_settings, is_loopback
from tests.proxy.certificates import make_authority, server_files


def settings(folder: Path, **given: object) -> RecordSettings:
    return RecordSettings(folder / "captures", **given)  # type: ignore[arg-type]


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text("ada: ada-0123456789abcdef\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def tls(tmp_path: Path) -> dict[str, Path]:
    make_authority(tmp_path / "ca")
    cert, key = server_files(tmp_path / "ca")
    return {"tls_cert": cert, "tls_key": key}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_nothing(tmp_path: Path, host: str) -> None:
    assert is_loopback(host)
    check_settings(settings(tmp_path, host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_another_address_needs_tokens_and_tls(tmp_path: Path, tokens: Path, tls: dict[str, Path], host: str) -> None:
    with pytest.raises(InputError, match="give --token-file and --tls-cert with --tls-key, or --insecure-bind"):
        check_settings(settings(tmp_path, host=host))
    with pytest.raises(InputError, match=r"or give --tls-cert with --tls-key, or"):
        check_settings(settings(tmp_path, host=host, token_file=tokens))
    with pytest.raises(InputError, match=r"or give --token-file, or"):
        check_settings(settings(tmp_path, host=host, **tls))
    check_settings(settings(tmp_path, host=host, token_file=tokens, **tls))
    check_settings(settings(tmp_path, host=host, insecure_bind=True))


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"status_port": -1}, "--status-port"),
        ({"forward_port": 70000}, "--forward-port"),
        ({"workers": 0}, "--workers"),
        ({"workers": 65}, "--workers"),
        ({"chatgpt_upstream": "chatgpt.com"}, "--chatgpt-upstream"),
        ({"tls_cert": Path("c")}, "--tls-cert"),
        ({"tls_key": Path("k")}, "--tls-cert"),
    ],
)
def test_nonsense_is_one_line_that_names_the_option(tmp_path: Path, given: dict[str, object], where: str) -> None:
    with pytest.raises(InputError, match=f"^{where}: "):
        check_settings(settings(tmp_path, **given))


def test_files_that_are_no_certificate_are_refused(tmp_path: Path, tokens: Path) -> None:
    with pytest.raises(InputError, match="no usable certificate and key"):
        check_settings(settings(tmp_path, tls_cert=tokens, tls_key=tokens))


def test_the_authority_is_never_kept_among_captures(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--forward-ca: a private key"):
        check_settings(settings(tmp_path, forward_port=0, forward_ca=tmp_path / "captures" / "ca"))
    assert check_settings(settings(tmp_path, forward_port=0, forward_ca=tmp_path / "ca")).ca_folder == tmp_path / "ca"
    assert check_settings(settings(tmp_path, forward_ca=tmp_path / "ca")).ca_folder is None


def test_clients_are_given_hours_of_silence(tmp_path: Path) -> None:
    """Models think, and clients wait for response headers, for up to 354 s."""
    assert settings(tmp_path).idle_limit_s >= 3600

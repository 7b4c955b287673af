from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from proxy.access import (
    PathToken,
    Tokens,
    is_from_web_page,
    is_own_host,
    opts_out,
    proxy_password,
    read_tokens,
    split_path_token,
)

ADA, BOB = "ada-0123456789abcdef", "bob-0123456789abcdef"


def token_file(path: Path, text: str, mode: int = 0o600) -> Path:
    file = path / "tokens"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_names_by_token(tmp_path: Path) -> None:
    tokens = read_tokens(token_file(tmp_path, f"# who\n\nada: {ADA}\n  bob :{BOB}  \n"))
    assert tokens.name_of(ADA.encode()) == "ada"
    assert tokens.name_of(BOB.encode()) == "bob"
    for other in (b"", ADA[:-1].encode(), ADA.encode() + b"x", b"\xff" * 20):
        assert tokens.name_of(other) is None


@pytest.mark.parametrize(
    ("text", "mode", "problem"),
    [
        (f"ada: {ADA}", 0o640, "can be read by others"),
        ("", 0o600, "holds no token"),
        ("ada: short", 0o600, "line 1: is no name with a token"),
        (f"ada: {ADA}\nbob {BOB}", 0o600, "line 2: is no name with a token"),
        (f"a/b: {ADA}", 0o600, "is no name with a token"),
        (f"ada: {ADA}/x", 0o600, "is no name with a token"),
        (f"ada: {ADA}\nbob: {ADA}", 0o600, "line 2: has the same token as 'ada'"),
    ],
)
def test_unusable_token_files_are_refused(tmp_path: Path, text: str, mode: int, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        read_tokens(token_file(tmp_path, text, mode))
    assert ADA not in str(refused.value)


def test_a_missing_token_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read as a token file"):
        read_tokens(tmp_path / "none")


def test_tokens_are_not_kept() -> None:
    tokens = Tokens({ADA: "ada"})
    assert ADA not in repr(vars(tokens))


@pytest.mark.parametrize(
    ("target", "rest", "token"),
    [
        (b"/v1/messages", b"/v1/messages", None),
        (b"/t/abc/v1/messages?x=/t/y", b"/v1/messages?x=/t/y", b"abc"),
        (b"/t/abc/", b"/", b"abc"),
        (b"/t/abc", b"/", b"abc"),
        (b"/t/abc?x=1", b"/?x=1", b"abc"),
        (b"/t//v1", b"/v1", b""),
        (b"/tt/abc/v1", b"/tt/abc/v1", None),
    ],
)
def test_path_prefix(target: bytes, rest: bytes, token: bytes | None) -> None:
    assert split_path_token(target) == PathToken(rest, token)


@given(st.binary(), st.binary().filter(lambda token: not set(token) & set(b"/?")))
def test_what_follows_the_prefix_stays_as_it_was(rest: bytes, token: bytes) -> None:
    assert split_path_token(b"/t/" + token + b"/" + rest) == PathToken(b"/" + rest, token)


@pytest.mark.parametrize(
    ("header", "password"),
    [
        ("Basic " + base64.b64encode(b"ada:secret").decode(), b"secret"),
        ("bearer  secret ", b"secret"),
        ("Basic !!", None),
        ("Digest x", None),
        ("", None),
    ],
)
def test_proxy_password(header: str, password: bytes | None) -> None:
    assert proxy_password(header) == password


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8801", "localhost", "LOCALHOST:1", "[::1]:8801", "::1", "10.0.0.7", "box.lan:8801", "a.localhost"],
)
def test_own_hosts(host: str) -> None:
    assert is_own_host(host, frozenset({"box.lan"}))


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "evil.example:8801", "localhost.evil.example", "127.0.0.1.x"]
)
def test_other_hosts_are_a_web_pages(host: str | None) -> None:
    assert not is_own_host(host, frozenset({"box.lan"}))


def test_web_pages_are_told_by_origin_or_fetch_site() -> None:
    assert is_from_web_page("https://evil.example", None)
    assert is_from_web_page("http://127.0.0.1:9", None)
    assert is_from_web_page("null", None)
    assert is_from_web_page(None, "cross-site")
    assert not is_from_web_page(None, None)
    assert not is_from_web_page("vscode-file://vscode-app", None)
    assert not is_from_web_page(None, "none")


@pytest.mark.parametrize(("value", "off"), [("off", True), (" OFF ", True), ("0", True), ("on", False), (None, False)])
def test_record_switch(value: str | None, off: bool) -> None:
    assert opts_out(value) is off

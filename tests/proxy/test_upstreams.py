from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from proxy.upstreams import Provider, Upstream, Upstreams, join_path, parse_upstream


@pytest.mark.parametrize(
    ("provider", "base", "target", "joined"),
    [
        ("anthropic", "https://h", b"/v1/messages?beta=true", b"/v1/messages?beta=true"),
        ("anthropic", "https://h/", b"/v1/messages", b"/v1/messages"),
        ("anthropic", "https://h/v1", b"/v1/messages", b"/v1/messages"),
        ("anthropic", "https://h/v1/", b"/v1/messages", b"/v1/messages"),
        ("anthropic", "https://h/proxy", b"/v1/messages", b"/proxy/v1/messages"),
        ("anthropic", "https://h/proxy/v1/", b"/v1/messages", b"/proxy/v1/messages"),
        ("anthropic", "https://h/v1", b"/v1beta/x", b"/v1/v1beta/x"),
        ("openai", "https://h/v1", b"/v1/responses", b"/v1/responses"),
        ("openai", "https://h/v1/", b"/v1/responses?a=/v1/", b"/v1/responses?a=/v1/"),
        ("openai", "https://h/v1", b"/responses", b"/v1/responses"),
        ("openai", "https://h", b"/v1/responses", b"/v1/responses"),
        ("openai", "https://h/prefix/v1", b"/v1/responses", b"/prefix/v1/responses"),
        ("openai", "https://h/backend-api/codex", b"/v1/models?v=1", b"/backend-api/codex/models?v=1"),
        ("openai", "https://h/backend-api/codex", b"/backend-api/wham/x?a=b", b"/backend-api/wham/x?a=b"),
        ("openai", "https://h/backend-api/codex", b"/v1/backend-api/x", b"/backend-api/codex/backend-api/x"),
        ("openai", "https://h/prefix/v1", b"/prefix/v1/responses", b"/prefix/v1/responses"),
        ("anthropic", "https://h/proxy", b"/proxy/v1/messages", b"/proxy/v1/messages"),
        ("anthropic", "https://h/v1/proxy", b"/v1/messages", b"/v1/proxy/v1/messages"),
        ("openai", "https://h/v1", b"/v1", b"/v1"),
        ("openai", "https://h/v1", b"/v1?x=1", b"/v1?x=1"),
        ("openai", "https://h/v1", b"*", b"*"),
        ("openai", "https://h/v1", b"/v1//a%2Fb", b"/v1//a%2Fb"),
    ],
)
def test_paths_join_without_doubling(provider: Provider, base: str, target: bytes, joined: bytes) -> None:
    assert join_path(provider, parse_upstream(base, "--x"), target) == joined


folders = st.lists(st.sampled_from(["v1", "proxy", "backend-api", "codex", "a.b"]), max_size=3)
rests = st.sampled_from([b"responses", b"messages?beta=true", b"models?client_version=1", b"messages/count_tokens"])


@given(st.sampled_from(["anthropic", "openai"]), folders, st.sampled_from(["", "/", "//"]), rests)
def test_what_clients_ask_for_goes_under_any_base_url_once(
    provider: Provider, path: list[str], tail: str, rest: bytes
) -> None:
    upstream = parse_upstream("https://h" + "".join(f"/{one}" for one in path) + tail, "--x")
    base = "".join(f"/{one}" for one in path).encode()
    joined = join_path(provider, upstream, b"/v1/" + rest)
    assert b"//" not in joined
    if provider == "openai" and path:
        assert joined == base + b"/" + rest
    else:
        assert joined == base.removesuffix(b"/v1") + b"/v1/" + rest


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://api.anthropic.com", "api.anthropic.com"),
        ("https://h:443/v1", "h"),
        ("http://h:443", "h:443"),
        ("http://127.0.0.1:9000", "127.0.0.1:9000"),
        ("http://[::1]:80/", "[::1]"),
    ],
)
def test_authority_names_a_port_only_when_it_is_not_the_usual_one(url: str, authority: str) -> None:
    assert parse_upstream(url, "--x").authority == authority


def test_url_is_normalised() -> None:
    assert parse_upstream("HTTPS://Host/v1//", "--x") == Upstream("https", "host", 443, "/v1")
    assert parse_upstream("https://Host/v1//", "--x").url == "https://host/v1"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.openai.com",
        "ftp://h",
        "https://",
        "http://h:99999",
        "http://u:p@h",
        "http://h?x=1",
        "http://[h",
        "http://a..b",
    ],
)
def test_unusable_upstreams_name_the_option(url: str) -> None:
    with pytest.raises(InputError, match=r"^--openai-upstream: "):
        parse_upstream(url, "--openai-upstream")


def test_password_in_an_upstream_is_not_repeated() -> None:
    with pytest.raises(InputError) as caught:
        parse_upstream("http://user:canary@host", "--x")
    assert "canary" not in str(caught.value)


def test_a_chatgpt_account_has_its_own_upstream_on_the_openai_listener_only() -> None:
    a, b, c = (parse_upstream(f"http://{name}", "--x") for name in ("a", "b/v1", "c/backend-api/codex"))
    upstreams = Upstreams(anthropic=a, openai=b, chatgpt=c)
    assert upstreams.choose("openai", {"chatgpt-account-id"}, b"/v1/responses") == c
    assert upstreams.choose("openai", {"authorization"}, b"/v1/responses") == b
    assert upstreams.choose("openai", {"authorization"}, b"/backend-api/ps/mcp") == c
    assert upstreams.choose("anthropic", {"chatgpt-account-id"}, b"/backend-api/x") == a


def test_upstreams_under_the_same_path_are_told_apart_by_the_header_alone() -> None:
    b, c = (parse_upstream(f"http://{name}/v1", "--x") for name in "bc")
    upstreams = Upstreams(anthropic=b, openai=b, chatgpt=c)
    assert upstreams.choose("openai", set(), b"/v1/responses") == b
    assert upstreams.choose("openai", {"chatgpt-account-id"}, b"/v1/responses") == c

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.redaction import STORED_HEADERS, is_private, stored_headers, stored_path

SECRET_HEADERS = (
    "Authorization",
    "Proxy-Authorization",
    "X-Api-Key",
    "api-key",
    "x-goog-api-key",
    "x-amz-security-token",
    "Cookie",
    "Set-Cookie",
    "anthropic-organization-id",
    "openai-organization",
    "openai-project",
    "chatgpt-account-id",
    "x-codex-turn-state",
    "x-some-session-token",
    "x-client-secret",
)


def test_known_headers_keep_order_case_and_duplicates() -> None:
    fields = ((b"X-App", b"cli"), (b"accept", b"a"), (b"Accept", b"b"))
    assert stored_headers(fields) == (("X-App", "cli"), ("accept", "a"), ("Accept", "b"))


@pytest.mark.parametrize("name", SECRET_HEADERS)
def test_secret_headers_become_their_size(name: str) -> None:
    assert stored_headers([(name.encode(), b"sk-canary-0123")]) == ((name, "<14 bytes>"),)


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "Pd")), min_size=1), st.binary(min_size=9))
def test_a_value_is_stored_only_under_a_listed_name(name: str, value: bytes) -> None:
    ((_, stored),) = stored_headers([(name.encode(), value)])
    families = ("anthropic-ratelimit-", "x-ratelimit-", "x-stainless-")
    if name.lower() not in STORED_HEADERS and not name.lower().startswith(families):
        assert stored == f"<{len(value)} bytes>"


@pytest.mark.parametrize(
    ("target", "stored"),
    [
        ("/v1/messages?beta=true", "/v1/messages?beta=true"),
        ("/v1/models?client_version=0.171.0&key=abc", "/v1/models?client_version=0.171.0&key=<3 bytes>"),
        ("/x?access_token=abcd&X-Amz-Date=1&a=b", "/x?access_token=<4 bytes>&X-Amz-Date=<1 bytes>&a=b"),
        ("/x?k%65y=abc", "/x?k%65y=<3 bytes>"),
        ("/x?code=a&state=b&codec=c", "/x?code=<1 bytes>&state=<1 bytes>&codec=c"),
        ("/x?tag=sk-ant-abc&sk-ant-abc", "/x?tag=<10 bytes>&<10 bytes>"),
        ("/x?", "/x?"),
        ("/v1/oauth/token?code=abc", "/v1/oauth/token"),
    ],
)
def test_secret_query_values_are_removed(target: str, stored: str) -> None:
    assert stored_path(target) == stored


@pytest.mark.parametrize("target", ["/v1/oauth/token", "/oauth/authorize?x=1", "/api/event_logging/v2/batch"])
def test_sign_in_and_telemetry_are_private(target: str) -> None:
    assert is_private(target)


@pytest.mark.parametrize("target", ["/v1/messages", "/v1/responses?oauth=1", "/v1/oauthish"])
def test_model_traffic_is_not_private(target: str) -> None:
    assert not is_private(target)

"""Probes, lists and errors in each provider's shape."""

import pytest
from aiohttp.test_utils import make_mocked_request

from standin.refusals import answer_other, is_anthropic, refusal
from wire.api import api_of


def body_of(reply: object) -> bytes:
    return bytes(getattr(reply, "body"))  # noqa: B009 - aiohttp types the body as a payload too


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/api/hello", 200),
        ("GET", "/", 200),
        ("GET", "/v1/models", 200),
        ("GET", "/v1/responses", 426),
        ("GET", "/backend-api/codex/responses", 426),
        ("POST", "/v1/nothing", 404),
    ],
)
def test_what_is_no_model_request_gets_its_status(method: str, path: str, status: int) -> None:
    assert answer_other(make_mocked_request(method, path), api_of(method, path)).status == status


def test_each_client_gets_its_own_error_shape() -> None:
    ours = make_mocked_request("POST", "/v1/x", headers={"anthropic-version": "2023-06-01"})
    theirs = make_mocked_request("POST", "/v1/x")
    assert b'"type": "rate_limit_error"' in body_of(refusal(ours, 429, "slow", retry_after_s=2))
    assert refusal(ours, 429, "slow", retry_after_s=2).headers["Retry-After"] == "2"
    assert b'"type": "rate_limit_exceeded"' in body_of(refusal(theirs, 429, "slow"))


def test_each_client_gets_its_own_models() -> None:
    ours = make_mocked_request("GET", "/v1/models", headers={"x-api-key": "k"})
    assert is_anthropic(ours)
    assert b"claude" in body_of(answer_other(ours, "other"))
    assert b"gpt" in body_of(answer_other(make_mocked_request("GET", "/v1/models"), "other"))

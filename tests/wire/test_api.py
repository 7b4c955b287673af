from __future__ import annotations

import pytest

from wire.api import Api, api_of


@pytest.mark.parametrize(
    ("method", "path", "api"),
    [
        ("POST", "/v1/messages", "anthropic-messages"),
        ("POST", "/v1/messages?beta=true", "anthropic-messages"),
        ("post", "/gateway/anthropic/v1/messages/", "anthropic-messages"),
        ("POST", "/v1/messages/count_tokens?beta=true", "anthropic-messages"),
        ("POST", "/v1/responses", "openai-responses"),
        ("POST", "/backend-api/codex/responses", "openai-responses"),
        ("GET", "/v1/responses", "openai-responses-ws"),
        ("POST", "/v1/chat/completions", "openai-chat"),
        ("POST", "/openai/deployments/d/chat/completions?api-version=2", "openai-chat"),
    ],
)
def test_known_routes_under_any_base_url(method: str, path: str, api: Api) -> None:
    assert api_of(method, path) == api


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("HEAD", "/api/hello"),
        ("GET", "/v1/models?client_version=0.171.0"),
        ("GET", "/v1/messages"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/threads/t1/messages"),
        ("GET", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/compact"),
        ("POST", "/v1/completions"),
        ("POST", "/model/us.anthropic.claude/invoke-with-response-stream"),
        ("POST", "/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict"),
        ("POST", "/"),
        ("POST", "/x?next=/v1/messages"),
    ],
)
def test_everything_else_is_other(method: str, path: str) -> None:
    assert api_of(method, path) == "other"

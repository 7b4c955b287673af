"""Errors in each provider's shape, and everything a client asks that is no model request."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from standin.events import Names
from wire.api import Api

CREATED_S: Final = 1_767_225_600  # every `created` stamp, so that equal requests get equal answers
_CLAUDE_MODELS: Final = ("claude-opus-5-5", "claude-haiku-5-5")
_GPT_MODELS: Final = ("gpt-6.2-sol", "gpt-5.5")
# status -> error type; a status that is missing reads like 500
_ANTHROPIC_ERRORS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_OPENAI_ERRORS: Final = {
    400: "invalid_request_error",
    404: "invalid_request_error",
    426: "invalid_request_error",
    429: "rate_limit_exceeded",
    500: "server_error",
}


def is_anthropic(request: web.Request) -> bool:
    """Whose client is asking, for paths that do not tell."""
    by_path = request.path.rstrip("/").endswith(("/messages", "/count_tokens"))
    return by_path or "anthropic-version" in request.headers or "x-api-key" in request.headers


def refusal(
    request: web.Request, status: int, message: str, *, names: Names | None = None, retry_after_s: int | None = None
) -> web.Response:
    made = names or Names(message)
    if is_anthropic(request):
        name = made.make("req_01", 22)
        headers = {"request-id": name}
        error = {"type": _ANTHROPIC_ERRORS.get(status, _ANTHROPIC_ERRORS[500]), "message": message}
        body: dict[str, Any] = {"type": "error", "error": error, "request_id": name}
    else:
        headers = {"x-request-id": made.make("req_", 32)}
        body = {"error": openai_error(status, message)}
    if retry_after_s is not None:
        headers["Retry-After"] = str(retry_after_s)
    return web.json_response(body, status=status, headers=headers)


def openai_error(status: int, message: str) -> dict[str, Any]:
    kind = _OPENAI_ERRORS.get(status, _OPENAI_ERRORS[500])
    return {"message": message, "type": kind, "param": None, "code": None}


def answer_other(request: web.Request, api: Api) -> web.Response:
    """Probes, model lists, refused upgrades, unknown paths."""
    path = request.path.rstrip("/")
    if api == "openai-responses-ws":  # 426 is the one status that makes Codex fall back to POST at once
        return refusal(request, 426, "WebSocket is not offered here; send POST requests.")
    if request.method in {"GET", "HEAD"} and (not path or path.endswith("/hello")):
        return web.json_response({})
    if request.method == "GET" and path.endswith("/models"):
        return web.json_response(_claude_list() if is_anthropic(request) else _gpt_list())
    return refusal(request, 404, f"There is nothing at {request.method} {request.path}.")


def _claude_list() -> dict[str, Any]:
    stamp = "2026-01-01T00:00:00Z"
    rows = [{"type": "model", "id": name, "display_name": name, "created_at": stamp} for name in _CLAUDE_MODELS]
    return {"data": rows, "has_more": False, "first_id": _CLAUDE_MODELS[0], "last_id": _CLAUDE_MODELS[-1]}


def _gpt_list() -> dict[str, Any]:
    rows = [{"id": name, "object": "model", "created": CREATED_S, "owned_by": "agentreel"} for name in _GPT_MODELS]
    return {"object": "list", "data": rows, "models": []}  # `models` is what a ChatGPT login reads

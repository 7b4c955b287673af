"""Exchanges for other programs: HAR 1.2 entries, and one flat JSON object each.

Captures stay private in either form. A head's value that was not recorded appears as its size here too. Bodies are
decoded where they can be: as text when they are UTF-8, else in base64.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from corpus.exchange import Exchange, Headers, RequestRecord, ResponseRecord
from wire.encoding import decode_body
from wire.errors import WireError

HAR_HEAD: Final = '{"log":{"version":"1.2","creator":{"name":"agentreel","version":"%s"},"entries":['
HAR_TAIL: Final = "]}}"


def har_entry(exchange: Exchange) -> dict[str, Any]:
    """Times in milliseconds, -1 where unknown, as HAR has it; what HAR has no place for in `_agentreel`."""
    request, response = exchange.request, exchange.response
    timings = _timings(request, response)
    return {
        "startedDateTime": datetime.fromtimestamp(request.t_request_us / 1e6, UTC).isoformat(timespec="milliseconds"),
        "time": sum(value for value in timings.values() if value > 0),
        "request": _har_request(request),
        "response": _har_response(response),
        "cache": {},
        "timings": timings,
        "_agentreel": {
            "exchange_id": request.exchange_id,
            "session_id": request.identity.session_id,
            "agent_id": request.identity.agent_id,
            "purpose": request.identity.purpose,
            "end": exchange.end,
            "mode": request.mode,
        },
    }


def body_fields(name: str, body: bytes, headers: Headers) -> dict[str, str]:
    """`name` with the decoded text, or `name`_base64 with the bytes as on the wire."""
    text = _text(body, headers)
    return {f"{name}_base64": base64.b64encode(body).decode()} if text is None else {name: text}


def _har_request(request: RequestRecord) -> dict[str, Any]:
    url = (request.upstream or "http://agentreel.invalid") + request.path
    entry: dict[str, Any] = {
        "method": request.method,
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(request.headers),
        "queryString": _pairs(parse_qsl(urlsplit(url).query, keep_blank_values=True)),
        "headersSize": -1,
        "bodySize": request.body_bytes,
    }
    if request.body:
        text = _text(request.body, request.headers)
        mime = _header(request.headers, "content-type") or "application/octet-stream"
        raw = {"_text_base64": base64.b64encode(request.body).decode()} if text is None else {}
        entry["postData"] = {"mimeType": mime, "params": [], "text": text or "", **raw}
    return entry


def _har_response(response: ResponseRecord | None) -> dict[str, Any]:
    headers = response.headers if response else ()
    body = response.body if response else b""
    text = _text(body, headers)
    content: dict[str, Any] = {
        "size": len(body) if text is None else len(text.encode("utf-8", "surrogatepass")),
        "mimeType": _header(headers, "content-type") or "application/octet-stream",
        "text": base64.b64encode(body).decode() if text is None else text,
    }
    if text is None:
        content["encoding"] = "base64"
    return {
        "status": (response.status if response else None) or 0,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(headers),
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(body) if response else -1,
    }


def _timings(request: RequestRecord, response: ResponseRecord | None) -> dict[str, float]:
    send = _ms(request.t_request_us, request.t_body_us)
    if response is None:
        return {"send": send, "wait": -1, "receive": -1}
    answered_us = response.t_first_byte_us or response.t_headers_us or response.t_end_us
    return {
        "send": send,
        "wait": _ms(request.t_body_us, answered_us),
        "receive": _ms(answered_us, response.t_end_us),
    }


def _ms(start_us: int, end_us: int) -> float:
    return max(0, end_us - start_us) / 1000


def _text(body: bytes, headers: Headers) -> str | None:
    try:
        return decode_body(body, _header(headers, "content-encoding")).decode()
    except (WireError, UnicodeDecodeError):
        return None


def _header(headers: Headers, name: str) -> str | None:
    return next((value for key, value in headers if key.lower() == name), None)


def _pairs(fields: Any) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in fields]

"""A request of which only what a test is about is said; everything else is plain."""

from __future__ import annotations

from typing import Any

from corpus.session import Blocks, Request


def plain_request(number: int, **values: Any) -> Request:
    """A complete main-agent turn at time 0 with an unknown end, 64 tokens in, one out, no blocks and no segments."""
    plain: dict[str, Any] = {
        "request": number,
        "agent": 0,
        "position": number,
        "purpose": "turn",
        "api": "anthropic-messages",
        "stream": True,
        "model": 0,
        "t_start_us": 0,
        "t_first_us": None,
        "t_end_us": None,
        "end": "complete",
        "status": 200,
        "retry_of": None,
        "stop": "",
        "input_kinds": (),
        "output_kinds": (),
        "input_tokens": 64,
        "output_tokens": 1,
        "usage": None,
        "blocks": Blocks(-1, 0, (), ()),
        "segments": None,
    }
    return Request(**plain | values)


def timed_request(number: int, agent: int, start_s: float, end_s: float | None, **values: Any) -> Request:
    end_us = None if end_s is None else round(end_s * 1e6)
    return plain_request(number, agent=agent, t_start_us=round(start_s * 1e6), t_end_us=end_us, **values)

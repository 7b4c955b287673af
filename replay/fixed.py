"""`fixed:ISL,OSL`: single-turn requests of one size, endless; a source for `replay` that is no recording.

It is one session of one request, played again and again. Every play opens with tokens of its own, so no two requests
share a prefix; who wants to know a cache takes a recording.
"""

from __future__ import annotations

import json
from typing import Final

from corpus.blocks import encode_blocks
from corpus.errors import InputError
from corpus.session import Agent, Request, Session

PREFIX: Final = "fixed:"
_BLOCK_SIZE: Final = 64


def fixed_session(source: str) -> Session:
    """InputError unless `source` is `fixed:ISL,OSL` with two numbers of tokens from 1."""
    prompt, comma, answer = source.removeprefix(PREFIX).partition(",")
    if not (comma and prompt.isdecimal() and answer.isdecimal() and int(prompt) and int(answer)):
        raise InputError(source, "is not of the form fixed:ISL,OSL", "for example fixed:1000,64")
    request = Request(
        request=0,
        agent=0,
        position=0,
        purpose="turn",
        api="other",
        stream=True,
        model=0,
        t_start_us=0,
        t_first_us=None,
        t_end_us=None,
        end="complete",
        status=None,
        retry_of=None,
        stop="",
        input_kinds=(),
        output_kinds=(),
        input_tokens=int(prompt),
        output_tokens=int(answer),
        usage=None,
        blocks=encode_blocks([range(1, 1 + int(prompt) // _BLOCK_SIZE)])[0],
        segments=None,
    )
    return Session(
        session=0,
        source_format="mooncake",
        source_dialect="plain",
        harness=None,
        harness_version=(),
        block_size=_BLOCK_SIZE,
        models=("other",),
        agents=(Agent(0, None, "main"),),
        requests=(request,),
        source=json.dumps({"id": source}),
    )

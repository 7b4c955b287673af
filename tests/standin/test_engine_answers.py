"""Answer bodies and chunks of the engine."""

import numpy as np
import orjson

from standin.engine_answers import Reply
from standin.engine_prompts import Ask


def reply(*, chat: bool, usage: bool = True) -> Reply:
    ask = Ask(chat, "m", np.zeros(10, dtype=np.uint32), 3, "stop", stream=True, include_usage=usage)
    return Reply(ask, 5, digest=123, created_s=9)


def test_text_of_the_chunks_is_the_text_of_the_whole() -> None:
    one = reply(chat=False)
    whole = orjson.loads(one.whole(4))
    chunks = [orjson.loads(one.token(n).removeprefix(b"data: ")) for n in range(3)]
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == whole["choices"][0]["text"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "stop"]
    assert whole["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}


def test_completions_open_with_no_chunk_and_chat_with_the_role() -> None:
    assert reply(chat=False).opening() == b""
    assert b'"role":"assistant"' in reply(chat=True).opening()


def test_usage_closes_a_stream_only_when_asked() -> None:
    assert reply(chat=True, usage=False).closing(0) == b"data: [DONE]\n\n"
    assert b'"choices":[],"usage":' in reply(chat=True).closing(0)

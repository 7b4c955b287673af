"""What the stand-in engine says: answer bodies and stream chunks of the completions and chat completions APIs.

The text is one short word for every token, chosen by the request's digest, so that a stream has exactly as many chunks
as tokens and the same request always gets the same text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from standin.engine_prompts import Ask

_TEXT: Final = "the engine reads a block and keeps it warm while the next one waits in line for its turn to be read"
_WORDS: Final = tuple(_TEXT.split())


@dataclass(frozen=True, slots=True)
class Reply:
    """Fixed facts of one answer; `digest` seeds the words."""

    ask: Ask
    number: int
    digest: int
    created_s: int

    def word(self, position: int) -> str:
        return " " + _WORDS[(self.digest + position * 7 + position // 5) % len(_WORDS)]

    def whole(self, cached_tokens: int) -> bytes:
        text = "".join(self.word(i) for i in range(self.ask.output_tokens))
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": self.ask.finish}
        if self.ask.chat:
            choice["message"] = {"role": "assistant", "content": text, "tool_calls": []}
        else:
            choice["text"] = text
        return orjson.dumps({**self._head(streamed=False), "choices": [choice], "usage": self.usage(cached_tokens)})

    def opening(self) -> bytes:
        """The chunk a chat stream begins with; completions have none."""
        return self._chunk({"role": "assistant", "content": ""}, None) if self.ask.chat else b""

    def token(self, position: int) -> bytes:
        finish = self.ask.finish if position == self.ask.output_tokens - 1 else None
        word = self.word(position)
        return self._chunk({"content": word} if self.ask.chat else word, finish)

    def closing(self, cached_tokens: int) -> bytes:
        end = b"data: [DONE]\n\n"
        if not self.ask.include_usage:
            return end
        return _sse({**self._head(streamed=True), "choices": [], "usage": self.usage(cached_tokens)}) + end

    def usage(self, cached_tokens: int) -> dict[str, Any]:
        prompt, output = len(self.ask.ids), self.ask.output_tokens
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + output,
            "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": cached_tokens},
        }

    def _chunk(self, content: object, finish: str | None) -> bytes:
        choice = {"index": 0, "delta" if self.ask.chat else "text": content, "logprobs": None, "finish_reason": finish}
        return _sse({**self._head(streamed=True), "choices": [choice]})

    def _head(self, *, streamed: bool) -> dict[str, Any]:
        chat = self.ask.chat
        kind = ("chat.completion" + (".chunk" if streamed else "")) if chat else "text_completion"
        name = f"{'chatcmpl' if chat else 'cmpl'}-{self.digest:016x}-{self.number}"
        return {"id": name, "object": kind, "created": self.created_s, "model": self.ask.model}


def _sse(value: object) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"

"""The records a provider's message shapes are brought to: a request as a Prompt, a response as an Answer.

Both are flat lists of parts. A part holds either text (prose, a tool definition, arguments) or the identity of a
payload that is no text here (image, document, sealed reasoning): its size and digest. Parts are private: `text` is a
person's or model's words and the digest is unsalted, so neither may leave the process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from wire.usage import Usage

Role = Literal[
    "system",
    "tools",
    "user",
    "assistant",
    "tool_call",
    "tool_result",
    "thinking",
    "reminder",
    "image",
    "document",
    "opaque",
]
# "billing": Claude Code's x-anthropic-billing-header line, which is about the request and no part of the conversation.
PartKind = Role | Literal["billing"]

TOOLS_MESSAGE: Final = -2
SYSTEM_MESSAGE: Final = -1


@dataclass(frozen=True, slots=True)
class Part:
    kind: PartKind
    text: str = field(repr=False)
    message: int  # TOOLS_MESSAGE, SYSTEM_MESSAGE, else the number of the message or item, from 0
    role: str  # as sent; Responses items without one: their type; tool definitions: "tools"
    call_id: str | None = None
    name: str | None = None  # of the tool; of a sealed payload: the type it came as; of an agent message: its author
    is_error: bool | None = None
    opaque_bytes: int = 0  # images and documents: bytes once decoded (0: a reference); sealed text: bytes as sent
    deferred: bool = False  # a tool definition that is only loaded on demand
    digest: str = field(default="", repr=False)  # hex BLAKE2b-128 of the payload as sent; "" for text
    payload: str = field(default="", repr=False, compare=False)  # base64 of an image or document that was sent whole


@dataclass(frozen=True, slots=True)
class Prompt:
    """Parts in the order the provider puts them before the model: tools, system, messages."""

    model: str | None
    stream: bool | None
    max_tokens: int | None
    parts: tuple[Part, ...]
    forces_tool: bool = False  # the answer has to be a tool call


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, as far as it came. Everything may be unknown."""

    message_id: str | None = None
    model: str | None = None
    stop: str | None = None  # the provider's word; Responses: its status, or why it is incomplete
    usage: Usage | None = None
    parts: tuple[Part, ...] = ()
    error: str | None = None  # the provider's error type or code
    complete: bool = False  # the provider said that this is all; never together with `error`

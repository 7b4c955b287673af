"""Decides what the stand-in model answers, from the request body alone.

The newest mark in what the user (or a parent agent) wrote names the script; tool results are not searched, so a
sub-agent's report can't redirect its parent. The step is the number of answers since the mark, counted in the request
itself, so the server keeps no conversation; a summary of the conversation carries the step reached. Without a mark, or
without tools, and to Codex's title threads, the DEFAULTS table answers, first match wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import orjson

from standin.answer import Block, Compaction, Offer, Text, fill_schema, ground
from standin.events import read_opaque
from standin.prose import prose, title
from standin.scripts import MARK, RESUME, SCRIPTS, Step, resume_mark
from wire.api import Api
from wire.jsonbody import objects

_CWD: Final = re.compile(r"(?:working directory:\s*|<cwd>)(/[^\s<]+)", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"\b(?:summar(?:y|ise|ize)|compact(?:ion)?|handoff)\b", re.IGNORECASE)
_REQUEST_CHARS: Final = 200  # a request for a summary is longer; Claude Code's has about 7,000
_MODEL_ITEMS: Final = ("reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call")


@dataclass(frozen=True, slots=True)
class Choice:
    script: str  # "" for a default answer
    step: int
    at: int  # index of the message or item that carried the mark
    blocks: tuple[Block, ...]
    plan: Step


@dataclass(frozen=True, slots=True)
class _Entry:
    """A message or item, reduced to what the choice needs."""

    by_model: bool
    texts: tuple[str, ...]  # what a person or a parent agent wrote; empty for anything else


def choose(api: Api, body: dict[str, Any], *seed: object) -> Choice:
    entries = _messages(body) if api == "anthropic-messages" else _items(body)
    offer = _offer(api, body)
    name, first, at = _newest_mark(entries)
    answered = first + _answers_since(entries[at + 1 :])
    if name in SCRIPTS and offer.namespaces and not _wants_summary(api, body, entries) and not _wants_title(body):
        steps = SCRIPTS[name]
        if answered < len(steps):
            plan = steps[answered]
            return Choice(name, answered, at, ground(plan.actions, offer, *seed, name, answered), plan)
        return Choice(name, answered, at, (Text(f"Done with {name}, nothing is left to do."),), Step(()))
    memo = resume_mark(name, answered) if name in SCRIPTS else ""
    for matches, answer in _DEFAULTS:
        if matches(api, body, entries):
            return Choice("", 0, -1, (answer(body, memo, seed),), Step(()))
    raise AssertionError("the last default always matches")


def _newest_mark(entries: list[_Entry]) -> tuple[str, int, int]:
    """Script, the step it goes on from, and where its mark stands."""
    for at in range(len(entries) - 1, -1, -1):
        for text in reversed(entries[at].texts):
            if found := MARK.findall(text):
                return found[-1], 0, at
            if resumed := RESUME.findall(text):
                return resumed[-1][0], int(resumed[-1][1]), at
    return "", 0, -1


def _answers_since(entries: list[_Entry]) -> int:
    """Runs of model-made entries that something of the client's follows; an unfinished run at the end is a retry's."""
    return sum(one.by_model and not two.by_model for one, two in pairwise(entries))


def _messages(body: dict[str, Any]) -> list[_Entry]:
    out = []
    for message in objects(body.get("messages")):
        role = message.get("role")
        if role != "system":  # told by the client on its own, and it may do so after what a person asked
            out.append(_Entry(role == "assistant", tuple(_texts(message.get("content"))) if role == "user" else ()))
    return out


def _items(body: dict[str, Any]) -> list[_Entry]:
    given = body.get("input")
    if isinstance(given, str):
        return [_Entry(by_model=False, texts=(given,))]
    out = []
    for item in objects(given):
        kind, role = item.get("type", "message"), item.get("role")
        by_model = kind in _MODEL_ITEMS or (kind == "message" and role == "assistant")
        heard = kind == "agent_message" or (kind == "message" and role == "user")
        texts = tuple(_texts(item.get("content"))) if heard else ()
        if kind == "compaction":
            texts = (read_opaque(str(item.get("encrypted_content"))),)
        out.append(_Entry(by_model, texts))
    return out


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in objects(content):
        for key in ("text", "encrypted_content"):  # our own agents' messages are not encrypted
            if isinstance(part.get(key), str):
                yield part[key]


def _offer(api: Api, body: dict[str, Any]) -> Offer:
    tools = list(objects(body.get("tools")))
    if api != "anthropic-messages":
        for item in objects(body.get("input")):
            if item.get("type") == "additional_tools":
                tools += objects(item.get("tools"))
    namespaces: dict[str, str | None] = {}
    for tool in tools:
        if tool.get("type") == "namespace":
            namespaces |= {str(t.get("name")): str(tool.get("name")) for t in objects(tool.get("tools"))}
        elif api != "anthropic-messages" or "input_schema" in tool:  # a tool the provider runs is none of the client's
            namespaces.setdefault(str(tool.get("name") or tool.get("type")), None)
    found = _CWD.search(orjson.dumps(body.get("messages") or body.get("input")).decode().replace("\\n", "\n"))
    return Offer(namespaces, found[1] if found else "/tmp")  # noqa: S108 - named to the client, never opened here


def _schema(body: dict[str, Any]) -> object:
    """The JSON schema the answer has to follow, if any (Anthropic: output_config.format; OpenAI: text.format)."""
    for key in ("output_config", "text"):
        outer = body.get(key)
        if isinstance(outer, dict) and isinstance(outer.get("format"), dict):
            return outer["format"].get("schema")
    return None


def _wants_summary(api: Api, body: dict[str, Any], entries: list[_Entry]) -> bool:
    if api != "anthropic-messages" and _triggered(body):
        return True
    last = entries[-1].texts[-1] if entries and entries[-1].texts else ""
    told = last.startswith("<")  # reminders and notifications are told, not asked
    return len(last) > _REQUEST_CHARS and not told and not MARK.search(last) and bool(_SUMMARY.search(last))


def _wants_title(body: dict[str, Any]) -> bool:
    """Codex asks for a thread's title with tools, and with the user's prompt, mark and all."""
    metadata = body.get("client_metadata")
    return isinstance(metadata, dict) and '"thread_title"' in str(metadata.get("x-codex-turn-metadata"))


def _triggered(body: dict[str, Any]) -> bool:
    items = objects(body.get("input"))
    return bool(items) and items[-1].get("type") == "compaction_trigger"


# (does this request look so, what is said then)
_Matches = Callable[[Api, dict[str, Any], list[_Entry]], bool]
_Says = Callable[[dict[str, Any], str, tuple[object, ...]], Block]  # body, where the script goes on, seed
_DEFAULTS: Final[tuple[tuple[_Matches, _Says], ...]] = (
    (lambda api, b, _: api != "anthropic-messages" and _triggered(b), lambda _b, memo, _s: Compaction(2400, memo)),
    (
        lambda _a, b, _: _schema(b) is not None,
        lambda b, _m, s: Text(orjson.dumps(fill_schema(_schema(b), title(*s))).decode()),
    ),
    (lambda _a, b, _: bool(b.get("stop_sequences")), lambda _b, _m, _s: Text("<block>no</block>")),
    (_wants_summary, lambda _b, memo, s: Text(f"<summary>\n{prose(1600, 'summary', *s)}\n{memo}\n</summary>")),
    (lambda *_: True, lambda _b, _m, s: Text(prose(160, "default", *s))),
)

"""Whatever JSON comes, a session is built or the exchange counted with its reason; nothing is raised, nothing lost."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.audit.canaries import canary_exchanges
from anonymize.cleanup import REJECTIONS
from anonymize.policy import check_record
from anonymize.public import public_session
from corpus.exchange import AgentKind, Exchange, Identity, Purpose
from corpus.soundness import find_flaw
from tests.anonymize.exchanges import anonymize, claude_answer, codex_answer, exchange, tool_use

PATHS = ("/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1/messages/count_tokens", "/v1/else")
# Keys and values of the protocols, so that what is made up comes near what is read
KEYS = re.findall(
    r"\S+",
    """model messages system tools content type text role name input id tool_use_id source data media_type thinking
    signature cache_control stream max_tokens instructions arguments call_id output summary encrypted_content index
    image_url defer_loading description input_schema function tool_calls choices delta message usage input_tokens
    output_tokens prompt_tokens completion_tokens cache_read_input_tokens input_tokens_details cached_tokens item
    content_block partial_json stop_reason response output_index status error metadata user_id title tool_name
    finish_reason author recipient reasoning_content is_error""",
)
WORDS = (
    *re.findall(
        r"\S+",
        """user assistant system developer tool text image document thinking redacted_thinking tool_use tool_result
        server_tool_use web_search_tool_result message function_call function_call_output custom_tool_call reasoning
        input_text output_text input_image additional_tools agent_message compaction message_start base64 url error
        content_block_start content_block_delta content_block_stop message_delta message_stop text_delta end_turn
        input_json_delta thinking_delta signature_delta response.completed response.output_item.done function
        response.output_text.delta response.failed claude-opus-5-5 gpt-5.5 tool_reference {"a":1} [] agentId:x
        <task-notification><task-id>1</task-id></task-notification> data:image/png;base64,iVBORw0KGgo=""",
    ),
    "\ud800",
)

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=30)
) | st.integers(0, 10**6)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
identities = st.builds(
    Identity,
    session_id=st.just("s"),
    agent_id=st.none() | st.text(max_size=4),
    parent_agent_id=st.none() | st.text(max_size=4),
    agent_name=st.none() | st.text(max_size=9),
    agent_kind=st.sampled_from(get_args(AgentKind)),
    purpose=st.sampled_from(("turn", *get_args(Purpose))),
    harness=st.none() | st.text(max_size=9),
    harness_version=st.none() | st.text(max_size=9),
    model=st.none() | st.sampled_from(WORDS),
    stream=st.none() | st.booleans(),
)

CLAUDE, CODEX = (json.loads(one.request.body) for one in canary_exchanges()[0][:2])
CHAT = {
    "model": "gpt-5.5",
    "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
}
CHAT_ANSWER = [
    {"id": "1", "choices": [{"index": 0, "delta": {"content": "hello"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}},
]
CODEX_CALL = {"type": "function_call", "name": "spawn_agent", "arguments": "{}", "call_id": "c"}
SAMPLES: tuple[tuple[str, Any, Any], ...] = (
    ("/v1/messages", CLAUDE, claude_answer({"type": "text", "text": "ok"}, tool_use("t", "Agent", prompt="go"))),
    ("/v1/responses", CODEX, codex_answer(CODEX_CALL, {"type": "message", "role": "assistant", "content": []})),
    ("/v1/chat/completions", CHAT, CHAT_ANSWER),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with a key or index of it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@st.composite
def bent(draw: st.DrawFn, sample: Any) -> Any:
    """A real value with some of it replaced, removed or repeated; rarely something else altogether."""
    made = copy.deepcopy(sample)
    for _ in range(draw(st.integers(0, 3))):
        holder, key = draw(st.sampled_from(list(places(made)) or [([None], 0)]))
        how = draw(st.sampled_from(("replace", "replace", "remove", "repeat")))
        if how == "replace":
            holder[key] = draw(anything)
        elif how == "remove":
            del holder[key]
        elif isinstance(holder, list):
            holder.insert(draw(st.integers(0, len(holder))), copy.deepcopy(holder[key]))
    return draw(anything) if draw(st.integers(0, 19)) == 19 else made


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "replace")


def sse(events: Any) -> bytes:
    listed = events if isinstance(events, list) else [events]
    names = [one.get("type") if isinstance(one, dict) else None for one in listed]
    framed = (f"event: {name}\ndata: {json.dumps(one)}\n\n" for name, one in zip(names, listed, strict=True))
    return "".join(framed).encode("utf-8", "replace")


@st.composite
def exchanges(draw: st.DrawFn) -> list[Exchange]:
    made = []
    for number in range(draw(st.integers(1, 3))):
        path, body, answer = draw(st.sampled_from(SAMPLES))
        is_stream = draw(st.integers(0, 4)) > 0
        said = draw(bent(answer))
        made.append(
            exchange(
                number,
                encoded(draw(bent(body))),
                sse(said) if is_stream else encoded(said),
                path=draw(st.sampled_from((path, path, path, *PATHS))),
                identity=draw(identities),
                status=draw(st.sampled_from([200, 200, 200, 200, 429, None])),
                content_type="text/event-stream" if is_stream else draw(st.sampled_from(["application/json", ""])),
            )
        )
    return made


@settings(max_examples=300)
@given(exchanges(), st.booleans())
def test_any_json_builds_or_is_rejected_with_a_reason(heard: list[Exchange], keep_aux: bool) -> None:
    done = anonymize(heard, keep_aux=keep_aux)
    kept = len(done.session.requests) if done.session else 0
    assert kept + done.rejected.total() == len(heard)
    assert set(done.rejected) <= REJECTIONS
    if done.session is not None:
        assert find_flaw(done.session) is None
        check_record(public_session(done.session))


encodings = st.sampled_from(["gzip", "zstd", "br", "deflate", "acme", ""])


@given(st.binary(max_size=200), st.binary(max_size=200), st.sampled_from(PATHS), encodings)
def test_any_bytes_build_or_are_rejected_with_a_reason(body: bytes, answer: bytes, path: str, encoding: str) -> None:
    one = exchange(1, body, answer, path=path)
    sealed = replace(one.request, exchange_id="y", headers=(("content-encoding", encoding),))
    done = anonymize([one, Exchange(sealed, one.response)])
    assert (len(done.session.requests) if done.session else 0) + done.rejected.total() == 2


def test_enough_of_what_the_fuzzer_thinks_of_is_built() -> None:
    """Else it would prove little."""
    kept = heard_of = 0

    @settings(max_examples=100, database=None, derandomize=True)
    @given(exchanges())
    def count(heard: list[Exchange]) -> None:
        nonlocal kept, heard_of
        done = anonymize(heard)
        kept += len(done.session.requests) if done.session else 0
        heard_of += len(heard)

    count()
    assert 0.1 < kept / heard_of < 0.9


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b"\xff", b'{"messages":null}', b"[" * 2000])
def test_bodies_that_are_no_request_are_counted(path: str, body: bytes) -> None:
    done = anonymize([exchange(1, body, b"", path=path)])
    assert done.session is None
    assert done.rejected.total() == 1

"""dag_jsonl, AIPerf's conversations of text: one a line, each with its turns and the others that a turn starts.

A tree of conversations is a session, each conversation an agent. A turn's messages are added to what was said before;
the answers come in between, `max_tokens` long (of no length where it is not said). With the context mode
`message_array_with_responses` a turn's messages are all of its prompt. A spawned child joins at `join_at` or at the
next turn, a fork inherits what its parent said and never joins, `pre_session_spawns` start with the session.
Conversations that only conduct others (`orchestrator`) are refused: they send no request.

Lost on import: the text (tokens are counted, equal beginnings found, with the default tokenizer; roles stay), sampling
parameters, and times, which the format does not have: requests start their delay after the one before them.

Lost on export: recorded starts and ends (delays stay), kinds and evidence of edges, segments, usage, failed attempts.
Text is made from block ids, out of words that common tokenizers take for one token each. The consumer puts live answers
into the history, so a turn says only what is new since the last answer; where an answer did not come back whole, the
prompt stays longer than recorded until tool results make up for it. A prompt that does not go on from the last one
(compaction) starts a conversation of its own, spawned by the last turn. A child that joins nothing, or joins beyond
such a break, joins at the last turn before it; one that is itself cut joins when its first part is done. Side requests
are children of one turn. Waits for a start become waits of the conversation. Proven against AIPerf 0.13.0 and
agentx-harness 1.0.12 (tests/peers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from corpus.errors import InputError
from corpus.formats.dag_export import export_conversations
from corpus.formats.dag_reader import sessions_of_conversations
from corpus.formats.dag_shape import parse_conversations
from corpus.formats.files import kind_of, read_head, read_values
from corpus.formats.trace_rows import Tally, Written
from corpus.output import written_aside
from corpus.session import Session

__all__ = ["is_dag_jsonl", "read_dag_jsonl", "write_dag_jsonl"]


def is_dag_jsonl(path: Path) -> bool:
    """Whether a file begins like a line of conversations; it may still be broken."""
    if not path.is_file() or kind_of(path) not in (".jsonl", ".json"):
        return False
    head = read_head(path)
    return b'"session_id"' in head and b'"turns"' in head


def read_dag_jsonl(path: Path) -> Iterator[Session]:
    """Sessions of a file; InputError names file, line and JSON place."""
    conversations = parse_conversations(read_values(path))
    if not conversations:
        raise InputError(path, "holds no conversation", "name a .jsonl file with one conversation a line")
    yield from sessions_of_conversations(conversations)


def write_dag_jsonl(path: Path, sessions: Iterable[Session], *, force: bool = False) -> Written:
    tally = Tally()
    with written_aside(path, force=force, replaceable=lambda _: False) as aside, aside.open("wb") as file:
        for conversation in export_conversations(sessions, tally):
            file.write(orjson.dumps(conversation, option=orjson.OPT_APPEND_NEWLINE))
    return tally.written()

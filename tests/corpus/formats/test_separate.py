from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corpus.blocks import expand_blocks
from corpus.formats.mooncake import read_mooncake
from corpus.formats.separate import separate_conversations
from corpus.formats.weka import read_weka, write_weka
from corpus.session import Agent, Edge, Session
from corpus.soundness import find_flaw
from tests.corpus.formats.sessions import dump, make_session


def two_families() -> Session:
    """Agents 0 and 1 nobody started, 2 is of 0 and 3 of 1; they take turns, a second each."""
    rows = [{"agent": n % 4, "t_start_us": n * 1_000_000, "t_end_us": n * 1_000_000 + 1} for n in range(8)]
    agents = (Agent(0, None, "main"), Agent(1, None, "main"), Agent(2, 0, "subagent"), Agent(3, 1, "subagent"))
    edges = tuple(Edge(a, b, "sequence", 5, "end", "id") for a, b in ((0, 2), (0, 4), (1, 3), (0, 5), (3, 7)))
    return replace(make_session(rows, [[1, n] for n in range(8)]), agents=agents, edges=edges)


def test_each_conversation_takes_what_it_started(captured: Session) -> None:
    first, second = separate_conversations(two_families())
    assert find_flaw(first) is None
    assert find_flaw(second) is None
    assert [[r.position for r in s.requests] for s in (first, second)] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert [[(a.parent, a.kind) for a in s.agents] for s in (first, second)] == [[(None, "main"), (0, "subagent")]] * 2
    assert [[(e.src, e.dst) for e in s.edges] for s in (first, second)] == [[(0, 1), (0, 2)], [(0, 1), (1, 3)]]
    assert [s.requests[0].t_start_us for s in (first, second)] == [0, 0]
    assert [ids.tolist() for ids in expand_blocks([r.blocks for r in second.requests])] == [
        [1, 1],
        [1, 3],
        [1, 5],
        [1, 7],
    ]
    assert [s.label for s in (first, second)] == ["session-1", "session-1::agent_001"]
    assert list(separate_conversations(captured)) == [captured]
    lost = replace(captured, agents=(captured.agents[0], Agent(1, None, "subagent"), captured.agents[2]))
    assert list(separate_conversations(lost)) == [lost]  # who started it is not known, but somebody did


def test_rows_without_sessions_become_weka_sessions_of_one_request(tmp_path: Path) -> None:
    row = {"timestamp": 5, "input_length": 1024, "output_length": 3, "hash_ids": [0, 1]}
    path = dump(tmp_path / "trace.jsonl", row, {**row, "timestamp": 9, "hash_ids": [0, 2]})
    written = write_weka(tmp_path / "out", read_mooncake(path))
    assert (written.sessions, written.requests) == (2, 2)
    found = [r for session in read_weka(tmp_path / "out") for r in session.requests]
    assert [(r.t_start_us, r.input_tokens, r.output_tokens) for r in found] == [(0, 1024, 3)] * 2

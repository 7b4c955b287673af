from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]


def test_json_counts_what_the_corpus_holds(agentreel: Call, chain: Any) -> None:
    stats = json.loads(agentreel("stats", chain.corpus, "--json").out)
    card = json.loads((chain.corpus / "card.json").read_bytes())
    for key in ("sessions", "requests", "agents"):
        assert stats[key] == card["counts"][key]
    assert 0 < stats["in_session_prefix_hit"] < 1
    alone = stats["timing_alone"]
    assert alone["spawns"] >= alone["spawns_wrong"] >= 0
    assert alone["joins"] >= alone["joins_wrong"] >= 0
    assert alone["spawns"] > 0
    assert list(stats["input_tokens"]) == ["p10", "p50", "p90", "p95", "p99", "max"]


def test_text_is_a_table_for_people(agentreel: Call, chain: Any) -> None:
    said = agentreel("stats", chain.corpus)
    assert (said.code, said.err) == (0, "")
    assert "prompt tokens" in said.out
    assert "time stamps alone would have missed" in said.out

from __future__ import annotations

from corpus.exchange import Identity
from proxy.heard import gather
from proxy.identity import identify_heard
from proxy.lineage import Lineage
from tests.proxy.test_identity import TURN, asked
from wire.facts import peek_request


def heard(lineage: Lineage, session: str, parent: str | None = None) -> Identity:
    headers = [("User-Agent", "opencode/1.2.3"), ("x-session-affinity", session), ("X-Session-Id", session)]
    record = asked(*headers, *([("x-parent-session-id", parent)] if parent else []), body=TURN)
    facts = gather(record, record.body, peek_request(record.api, record.body))
    return lineage.attach(facts, identify_heard(facts))


def test_a_child_is_an_agent_of_its_parents_session() -> None:
    lineage = Lineage()
    main, child = heard(lineage, "root"), heard(lineage, "child", "root")
    assert (main.session_id, main.agent_id, main.agent_kind) == ("root", None, "main")
    assert (child.session_id, child.agent_id, child.parent_agent_id) == ("root", "child", None)
    assert (child.agent_kind, child.harness, child.harness_version) == ("subagent", "opencode", "1.2.3")


def test_a_grandchild_belongs_to_the_root_and_names_its_parent() -> None:
    lineage = Lineage()
    heard(lineage, "child", "root")
    grandchild = heard(lineage, "grandchild", "child")
    assert (grandchild.session_id, grandchild.agent_id, grandchild.parent_agent_id) == ("root", "grandchild", "child")


def test_a_session_that_names_itself_as_parent_is_its_own() -> None:
    assert heard(Lineage(), "root", "root").agent_id is None


def test_memory_is_bounded() -> None:
    lineage = Lineage(remembered=1)
    heard(lineage, "a", "root")
    heard(lineage, "b", "root")
    assert heard(lineage, "c", "b").session_id == "root"
    assert heard(lineage, "d", "a").session_id == "a"  # forgotten: taken for the root

"""Who sent what, told of the recorded traffic of real clients."""

from __future__ import annotations

import pytest

from corpus.exchange import RequestRecord
from tests.proxy.captured import (
    claude_requests,
    claude_scenarios,
    codex_requests,
    codex_scenarios,
    identity_of,
    needs_captures,
)


def purposes(records: list[RequestRecord]) -> list[str]:
    return [purpose for record in records if (purpose := identity_of(record).purpose) not in ("other", "probe")]


@needs_captures
@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("base_tool_loop", ["turn"] * 5),
        ("base_interactive_auto_mode", ["title", *["turn"] * 5, "title", "turn"]),
        ("base_resume_fork_session_compact", ["compaction"] * 2 + ["turn"] * 8),
        ("fault_refusal", ["turn"] * 2),
        ("hint_auto_mode_classifier", ["turn", "classifier", "classifier", "turn"]),
        (
            "hint_custom_agent_skill_hooks",
            ["turn", "turn", "hook", "hook", "turn", "turn", "turn", "hook", "hook", "turn", "turn", "hook"],
        ),
        ("hint_interactive_interrupt_steer", ["title", "turn", "turn", "turn"]),
        ("proxy_websearch_webfetch", ["turn", "turn", "web_search", "turn", "web_fetch", "turn"]),
    ],
)
def test_claude_scenarios_have_the_purposes_the_study_names(scenario: str, expected: list[str]) -> None:
    assert purposes(claude_requests(scenario)) == expected


@needs_captures
@pytest.mark.parametrize("scenario", ["base_subagent_nested", "hint_subagent_nested", "proxy_subagent_nested"])
def test_claude_nested_agents_hang_under_the_first_child(scenario: str) -> None:
    identities = [identity_of(record) for record in claude_requests(scenario)]
    agents = {i.agent_id: i.parent_agent_id for i in identities if i.agent_id is not None}
    roots = [agent for agent, parent in agents.items() if parent is None]
    assert len(roots) == 1
    assert {parent for parent in agents.values() if parent is not None} == {roots[0]}
    assert len({i.session_id for i in identities if i.purpose == "turn"}) == 1


@needs_captures
def test_claude_workflow_agents_are_known_where_the_class_is_sent() -> None:
    kinds = {identity_of(record).agent_kind for record in claude_requests("proxy_workflow")}
    assert kinds == {"main", "workflow"}


@needs_captures
def test_every_claude_message_has_session_harness_and_version() -> None:
    for scenario in claude_scenarios():
        for record in claude_requests(scenario):
            if record.api != "other":
                identity = identity_of(record)
                assert identity.session_id
                assert identity.harness == "claude-code"
                assert (identity.harness_version or "").startswith("2.1.3")


@needs_captures
@pytest.mark.parametrize("scenario", ["http_agents", "custom_agents"])
def test_codex_agents_form_the_tree_of_their_names(scenario: str) -> None:
    identities = [identity_of(record) for record in codex_requests(scenario)]
    by_name = {i.agent_name: (i.agent_id, i.parent_agent_id, i.agent_kind) for i in identities}
    beta = by_name["/root/beta"][0]
    assert by_name["/root"] == (None, None, "main")
    assert by_name["/root/alpha"][1:] == (None, "subagent")
    assert by_name["/root/beta"][1:] == (None, "subagent")
    assert by_name["/root/beta/gamma"][1:] == (beta, "subagent")
    assert len({i.session_id for i in identities}) == 1


@needs_captures
@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("guardian_http", {"prewarm", "turn", "guardian"}),
        ("memories", {"prewarm", "turn", "memory"}),
        ("app_http", {"prewarm", "turn", "compaction", "review"}),
        ("http_compact", {"prewarm", "turn", "compaction"}),
        ("custom_compact", {"turn", "compaction"}),
    ],
)
def test_codex_scenarios_have_the_purposes_the_study_names(scenario: str, expected: set[str]) -> None:
    assert set(purposes(codex_requests(scenario))) == expected


@needs_captures
def test_every_codex_model_request_has_session_harness_version_and_turn() -> None:
    for scenario in codex_scenarios():
        for record in codex_requests(scenario):
            if record.api == "openai-responses":
                identity = identity_of(record)
                assert identity.session_id
                assert (identity.harness, identity.harness_version) == ("codex", "0.171.0")
                assert identity.turn_id


@needs_captures
def test_claude_hooks_are_conversations_of_their_own_beside_the_agent_that_tripped_them() -> None:
    identities = [identity_of(record) for record in claude_requests("hint_custom_agent_skill_hooks")]
    hooks = [one for one in identities if one.purpose == "hook"]
    assert all(one.conversation for one in hooks)
    assert {one.conversation for one in identities if one.purpose != "hook"} == {None}
    asked_again = {(one.agent_id, one.conversation) for one in hooks}
    assert len(asked_again) < len(hooks)  # the steps of one hook share their name
    assert len(asked_again) > 1

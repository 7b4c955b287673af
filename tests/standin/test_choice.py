"""Which script and step a request gets."""

from typing import Any

import orjson

from standin.answer import Call, Compaction, Text
from standin.choice import Choice, choose
from standin.events import Names
from standin.responses_answers import output_items

TOOLS: list[dict[str, Any]] = [{"name": name, "input_schema": {}} for name in ("Bash", "Read", "Write", "Agent")]


def claude(messages: list[tuple[str, Any]], **more: Any) -> Choice:
    body = {"messages": [{"role": role, "content": content} for role, content in messages], "tools": TOOLS} | more
    return choose("anthropic-messages", body)


def codex(*items: dict[str, Any], **more: Any) -> Choice:
    tools = {"type": "additional_tools", "tools": [{"type": "namespace", "name": "f", "tools": [{"name": "exec"}]}]}
    return choose("openai-responses", {"input": [tools, *items]} | more)


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def test_the_step_is_the_number_of_answers_since_the_mark() -> None:
    talk: list[tuple[str, Any]] = [("user", "old [[script:leaf]]"), ("assistant", "x"), ("user", "[[script:loop]]")]
    assert (claude(talk).script, claude(talk).step) == ("loop", 0)
    talk += [("assistant", "a"), ("user", [{"type": "tool_result", "content": "[[script:hello]]"}])]
    assert (claude(talk).script, claude(talk).step) == ("loop", 1)


def test_a_report_in_a_tool_result_does_not_redirect() -> None:
    result = [{"type": "tool_result", "content": [{"type": "text", "text": "[[script:leaf]]"}]}]
    assert claude([("user", "[[script:loop]]"), ("assistant", "a"), ("user", result)]).script == "loop"


def test_past_the_last_step_the_model_is_done() -> None:
    talk: list[tuple[str, Any]] = [("user", "[[script:hello]]")]
    for _ in range(3):
        talk += [("assistant", "a"), ("user", "go on")]
    (block,) = claude(talk).blocks
    assert isinstance(block, Text)


def test_without_tools_or_mark_there_is_a_plain_answer() -> None:
    assert claude([("user", "[[script:loop]]")], tools=[]).script == ""
    assert claude([("user", "hello")]).script == ""


def test_a_schema_is_answered_with_json() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    (block,) = claude([("user", "x")], tools=[], output_config={"format": {"schema": schema}}).blocks
    assert isinstance(block, Text)
    assert orjson.loads(block.text)["title"]


def test_a_request_for_a_summary_gets_one_even_in_the_middle_of_a_script() -> None:
    talk = [("user", "[[script:loop]]"), ("assistant", "a"), ("user", "Write a summary of it all. " + "x " * 300)]
    (block,) = claude(talk).blocks
    assert isinstance(block, Text)
    assert block.text.startswith("<summary>")


def test_what_the_client_adds_on_its_own_hides_no_request_for_a_summary() -> None:
    talk = [("user", "[[script:loop]]"), ("assistant", "a"), ("user", "Write a summary of it all. " + "x " * 300)]
    (block,) = claude([*talk, ("system", "Keep them updated.")]).blocks
    assert isinstance(block, Text)
    assert block.text.startswith("<summary>")


def test_a_title_thread_of_codex_gets_its_title_and_no_script() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    metadata = {"x-codex-turn-metadata": '{"thread_source":"thread_title"}'}
    asked = {"client_metadata": metadata, "text": {"format": {"schema": schema}}}
    (block,) = codex(user("A title for: [[script:loop]]"), **asked).blocks
    assert isinstance(block, Text)
    assert orjson.loads(block.text)["title"]


def test_a_notification_that_mentions_a_summary_asks_for_none() -> None:
    note = "<system-reminder>\n<task-notification><summary>x</summary>" + "x " * 300
    talk = [("user", "[[script:loop]]"), ("assistant", "a"), ("user", note)]
    assert claude(talk).script == "loop"


def test_a_compaction_trigger_gets_a_compaction_item() -> None:
    (block,) = codex(user("[[script:loop]]"), {"type": "compaction_trigger"}).blocks
    assert isinstance(block, Compaction)


def test_the_classifier_is_told_not_to_block() -> None:
    (block,) = claude([("user", "x")], tools=[], stop_sequences=["</block>"]).blocks
    assert block == Text("<block>no</block>")


def test_codex_answers_are_counted_as_runs_of_model_items() -> None:
    call = {"type": "custom_tool_call", "call_id": "1"}
    output = {"type": "custom_tool_call_output", "call_id": "1"}
    items = [user("[[script:loop]]"), {"type": "reasoning"}, call, call, output, output]
    assert codex(*items).step == 1
    assert codex(*items, {"type": "reasoning"}, call, output).step == 2


def test_items_of_a_broken_answer_that_a_retry_repeats_are_no_step() -> None:
    assert codex(user("[[script:loop]]"), {"type": "reasoning"}).step == 0


def test_an_agent_message_starts_the_childs_script() -> None:
    task = {"type": "agent_message", "content": [{"type": "encrypted_content", "encrypted_content": "[[script:leaf]]"}]}
    assert codex(task).script == "leaf"


def test_paths_start_at_the_clients_working_directory() -> None:
    choice = claude([("user", "[[script:loop]]"), ("system", "# Env\n - Working directory: /home/x\n - more")])
    calls = [block for block in choice.blocks if isinstance(block, Call)]
    assert calls[0].arguments["file_path"] == "/home/x/README.md"


def test_a_plain_string_input_is_a_user_text() -> None:
    body = {"input": "[[script:hello]]", "tools": [{"type": "function", "name": "exec_command"}]}
    assert choose("openai-responses", body).script == "hello"


def test_after_a_compaction_the_script_goes_on_where_it_was() -> None:
    call = {"type": "function_call", "call_id": "c"}
    result = {"type": "function_call_output", "call_id": "c", "output": "x"}
    before = (user("[[script:loop]]"), call, result, call, result)
    (block,) = codex(*before, {"type": "compaction_trigger"}).blocks
    (item,) = output_items([block], Names("n"))
    after = codex(user("[[script:loop]]"), item)
    assert (after.script, after.step) == ("loop", 2) == (codex(*before).script, codex(*before).step)
    assert codex(user("[[script:loop]]"), item, call, result).step == 3


def test_a_summary_in_words_carries_the_step_too() -> None:
    talk = [("user", "[[script:loop]]"), ("assistant", "a"), ("user", "Write a summary of it all. " + "x " * 300)]
    (block,) = claude(talk).blocks
    assert isinstance(block, Text)
    assert claude([("user", block.text)]).step == 1
    assert claude([("user", block.text), ("assistant", "a"), ("user", "go on")]).step == 2

from __future__ import annotations

from corpus.errors import AgentreelError, InputError, OutputExistsError


def test_input_error_says_where_what_and_what_to_do_in_one_line() -> None:
    assert str(InputError("a.json", "is broken", "fetch it again")) == "a.json: is broken; fetch it again"
    assert str(InputError("a.json", "is broken")) == "a.json: is broken"


def test_output_error_names_the_option_that_replaces() -> None:
    assert "--force" in str(OutputExistsError("out"))


def test_all_errors_a_person_can_cause_are_of_one_kind() -> None:
    assert issubclass(InputError, AgentreelError)
    assert issubclass(OutputExistsError, AgentreelError)

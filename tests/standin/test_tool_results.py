"""Tool results are made up, several KB, and follow from call and seed."""

from standin.tool_results import read_result, shell_result, write_result


def test_results_follow_from_the_call_and_the_seed() -> None:
    assert read_result("a.py", 1) == read_result("a.py", 1) != read_result("a.py", 2)
    assert shell_result("ls", 1) == shell_result("ls", 1) != shell_result("ls -la", 1)


def test_results_are_big_enough_to_make_prompts_grow() -> None:
    sizes = [len(read_result(f"f{n}{end}", n).text) for n in range(20) for end in (".py", ".md", ".json")]
    assert min(sizes) > 1000
    assert max(sizes) < 20_000


def test_some_commands_fail_and_say_so() -> None:
    results = [shell_result("make", n) for n in range(200)]
    failed = [result for result in results if result.is_error]
    assert 5 < len(failed) < 60
    assert all(result.text.startswith("Exit code 1") for result in failed)


def test_writing_takes_time_and_never_fails() -> None:
    result = write_result("a.txt")
    assert result.seconds > 0
    assert not result.is_error

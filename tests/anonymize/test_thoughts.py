from __future__ import annotations

from anonymize.features import Born
from anonymize.placeholders import image_rule
from anonymize.segments import segment_of
from anonymize.thoughts import Thoughts
from anonymize.tokens import SegmentTokens
from tests.anonymize.exchanges import WordTokenizer
from wire.payload import sealed
from wire.shapes import Answer, Part
from wire.usage import Usage

SAID = Part("assistant", "one two", 0, "assistant")
SEAL = sealed("c" * 400, 0, "assistant", name="thinking")
SUMMARY = Part("thinking", "let me see", 0, "assistant")


def born(parts: tuple[Part, ...], usage: Usage | None, thought: Part = SEAL) -> Born | None:
    memo = SegmentTokens(WordTokenizer())
    thoughts = Thoughts(memo)
    thoughts.hear(Answer(parts=parts), usage)
    return thoughts.born(memo.handle(segment_of(thought, image_rule(None))))


def test_a_sealed_thought_is_the_output_less_what_was_said() -> None:
    assert born((SEAL, SAID), Usage(output_tokens=100)) == Born(100, 4)


def test_a_summary_stands_for_its_thought_and_the_seal_behind_it_for_nothing() -> None:
    parts = (SUMMARY, SEAL, SAID)
    assert born(parts, Usage(output_tokens=100), SUMMARY) == Born(100, 4)
    assert born(parts, Usage(output_tokens=100)) is None


def test_reasoning_tokens_are_taken_at_their_word() -> None:
    assert born((SEAL, SAID), Usage(output_tokens=100, reasoning_tokens=64)) == Born(64, 0)


def test_several_thoughts_share_by_size() -> None:
    small = sealed("d" * 100, 0, "assistant", name="thinking")
    assert born((SEAL, small), Usage(output_tokens=100)) == Born(80, 0)


def test_nothing_is_learned_without_a_count_or_when_the_provider_ran_tools() -> None:
    page = Part("tool_result", "a page", 0, "assistant")
    assert born((SEAL, SAID), None) is None
    assert born((SEAL, SAID), Usage(input_tokens=5)) is None
    assert born((SEAL, page, SAID), Usage(output_tokens=100)) is None
    assert born((SAID,), Usage(output_tokens=100)) is None

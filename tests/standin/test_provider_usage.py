"""Usage behaves like a provider's prompt cache."""

from hypothesis import given
from hypothesis import strategies as st

from standin.provider_usage import ProviderCache, text_tokens
from wire.prompt import Part, Prompt


def prompt(*texts: str, model: str = "m") -> Prompt:
    parts = tuple(Part(kind="user", text=text, message=n, role="user") for n, text in enumerate(texts))
    return Prompt(model=model, stream=True, max_tokens=None, parts=parts)


def test_a_grown_prompt_reads_what_it_shares_in_whole_units() -> None:
    cache = ProviderCache()
    first = cache.count(prompt("a" * 4000))
    second = cache.count(prompt("a" * 4000, "b" * 4000))
    assert first.cached_tokens == 0
    assert second.cached_tokens == first.input_tokens // 64 * 64
    assert second.written_tokens == second.input_tokens // 64 * 64 - second.cached_tokens


def test_models_do_not_share() -> None:
    cache = ProviderCache()
    cache.count(prompt("a" * 4000))
    assert cache.count(prompt("a" * 4000, model="other")).cached_tokens == 0


def test_counting_alone_stores_nothing() -> None:
    cache = ProviderCache()
    cache.count(prompt("a" * 4000), store=False)
    assert cache.count(prompt("a" * 4000)).cached_tokens == 0


def test_billing_lines_and_deferred_tools_count_for_nothing() -> None:
    base = prompt("hello " * 100)
    billing = Part(kind="billing", text="x" * 100, message=-1, role="system")
    deferred = Part(kind="tools", text="y" * 100, message=-2, role="tools", deferred=True)
    more = Prompt(model="m", stream=True, max_tokens=None, parts=(deferred, billing, *base.parts))
    cache = ProviderCache()
    assert cache.count(base) == cache.count(more, store=False)


def test_images_count_by_size_up_to_a_limit() -> None:
    def image(size: int) -> Prompt:
        part = Part(kind="image", text="", message=0, role="user", opaque_bytes=size, digest="ab" * 16)
        return Prompt(model="m", stream=True, max_tokens=None, parts=(part,))

    cache = ProviderCache()
    assert cache.count(image(400)).input_tokens < cache.count(image(4000)).input_tokens
    assert cache.count(image(10**6)).input_tokens == cache.count(image(10**7)).input_tokens


@given(st.lists(st.lists(st.sampled_from(["a" * 300, "b" * 700, "c"]), max_size=5), max_size=8))
def test_cached_tokens_are_units_and_less_than_the_prompt(prompts: list[list[str]]) -> None:
    cache = ProviderCache()
    for texts in prompts:
        counted = cache.count(prompt(*texts))
        assert counted.cached_tokens % 64 == 0
        assert 0 <= counted.cached_tokens < counted.input_tokens
        assert 0 <= counted.written_tokens <= counted.input_tokens - counted.cached_tokens


def test_tokens_round_up() -> None:
    assert [text_tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]

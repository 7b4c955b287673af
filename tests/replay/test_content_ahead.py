from __future__ import annotations

import numpy as np
import pytest

from corpus.errors import InputError
from corpus.tokenizer import DEFAULT_TOKENIZER
from replay.content_ahead import pool_ahead
from replay.content_pool import make_pool


def test_pool_made_beside_draws_what_one_made_here_draws() -> None:
    with pool_ahead(DEFAULT_TOKENIZER) as wait:
        beside = wait()
    here = make_pool(DEFAULT_TOKENIZER)
    assert beside.texts == here.texts
    assert np.array_equal(beside.draw(["a", "b"], 64), here.draw(["a", "b"], 64))


def test_tokenizer_that_is_not_there_is_told_as_it_would_be_here() -> None:
    with pool_ahead("no such tokenizer") as wait, pytest.raises(InputError, match="no such tokenizer") as told:
        wait()
    assert told.value.hint


def test_pool_that_nobody_waits_for_is_given_up() -> None:
    with pytest.raises(KeyError), pool_ahead(DEFAULT_TOKENIZER):
        raise KeyError

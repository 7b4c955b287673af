from __future__ import annotations

import pytest

from wire.errors import WireError
from wire.jsonbody import parse_object


def test_wire_error_is_a_value_error_that_never_quotes_the_private_body() -> None:
    with pytest.raises(ValueError) as caught:
        parse_object(b'{"secret": sk-12345}')
    assert isinstance(caught.value, WireError)
    assert "sk-12345" not in str(caught.value)
    assert caught.value.__suppress_context__

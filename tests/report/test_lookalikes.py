from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from corpus.session import Session
from report.lookalikes import Lookalikes

Make = Callable[..., Session]


def session_of(make_session: Make, name: str, lengths: Sequence[int]) -> Session:
    changes = {n: {"input_tokens": length} for n, length in enumerate(lengths)}
    steps = [(0, n, n + 0.5) for n in range(len(lengths))]
    made: Session = make_session(steps, changes, source=f'{{"id": "{name}"}}')
    return made


def found(*sessions: Session) -> tuple[list[list[str]], list[list[str]]]:
    lookalikes = Lookalikes()
    for session in sessions:
        lookalikes.add(session)
    return lookalikes.copies(), lookalikes.forks()


def test_copies_differ_in_name_and_number_only(make_session: Make) -> None:
    one = session_of(make_session, "a", [1, 2, 3, 4])
    assert found(one, replace(one, session=1, source='{"id": "b"}')) == ([["a", "b"]], [])
    assert found(one, session_of(make_session, "b", [1, 2, 3, 5])) == ([], [["a", "b"]])


def test_forks_share_over_three_tenths_of_the_shorter(make_session: Make) -> None:
    one = session_of(make_session, "a", range(1, 11))
    assert found(one, session_of(make_session, "b", [1, 2, 3, *range(90, 97)])) == ([], [])  # 3 of 10
    assert found(one, session_of(make_session, "b", [1, 2, 3, *range(90, 96)])) == ([], [["a", "b"]])  # 3 of 9
    assert found(one, session_of(make_session, "b", [1, 2])) == ([], [])  # too little to tell


def test_forks_of_forks_hang_together_and_a_copy_is_counted_once(make_session: Make) -> None:
    a = session_of(make_session, "a", range(10))
    b = session_of(make_session, "b", range(5, 15))
    c = session_of(make_session, "c", range(10, 20))
    copy = replace(a, source='{"id": "d"}')
    assert found(a, b, c, copy) == ([["a", "d"]], [["a", "b", "c"]])
    assert found(a, copy) == ([["a", "d"]], [])

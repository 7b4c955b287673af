from __future__ import annotations

import asyncio

from replay.turns import Turns


async def work(turns: Turns, name: str, steps: int, said: list[str], *, ahead: bool = False) -> None:
    for left in range(steps, 0, -1):
        await turns.wait(left, ahead=ahead)
        said.append(name)


async def test_the_shortest_work_is_done_first_and_in_one_go() -> None:
    turns, said = Turns(), list[str]()
    await asyncio.gather(work(turns, "c", 3, said), work(turns, "a", 1, said), work(turns, "b", 2, said))
    assert "".join(said) == "abbccc"


async def test_shorter_work_that_comes_later_goes_first() -> None:
    turns, said = Turns(), list[str]()

    async def late() -> None:
        for _ in range(6):
            await asyncio.sleep(0)
        await work(turns, "s", 2, said)

    await asyncio.gather(work(turns, "l", 9, said), late())
    assert "".join(said).strip("l") == "ss"
    assert len(said) == 11


async def test_work_ahead_of_its_time_waits_for_what_is_due() -> None:
    turns, said = Turns(), list[str]()
    await asyncio.gather(work(turns, "p", 1, said, ahead=True), work(turns, "d", 5, said))
    assert "".join(said) == "dddddp"


async def test_the_loop_does_everything_else_between_two_steps() -> None:
    turns, said = Turns(), list[str]()

    seen: set[int] = set()

    async def look() -> None:
        for _ in range(12):
            seen.add(len(said))
            await asyncio.sleep(0)

    await asyncio.gather(work(turns, "s", 5, said), look())
    assert seen == {0, 1, 2, 3, 4, 5}


async def test_work_that_is_given_up_holds_nobody_up() -> None:
    turns, said = Turns(), list[str]()
    gone = asyncio.ensure_future(work(turns, "g", 1, said))
    stays = asyncio.ensure_future(work(turns, "s", 2, said))
    await asyncio.sleep(0)
    gone.cancel()
    await stays
    assert said == ["s", "s"]
    await work(turns, "again", 1, said)
    assert said[-1] == "again"

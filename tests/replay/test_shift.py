from __future__ import annotations

import gc
import time
from pathlib import Path

from corpus.row_log import read_row_log
from replay.commands import ScheduleRules
from replay.content import Material
from replay.content_pool import build_pool
from replay.plan import plan_session
from replay.settings import ReplaySettings
from replay.shift import Share, Shift, Worked
from tests.replay.loopback import Server, serving
from tests.replay.rehearsal import PLAIN_RULES, Asked, WordTokenizer, edge, session_of

SESSIONS = [session_of([Asked(0, 1, (1,)), Asked(1, 2, (1, 2))], [edge(0, 1, 0)], number) for number in range(6)]


async def worked(server: Server, rows: Path, worker: int, workers: int) -> tuple[Worked, Shift]:
    async with serving(server):
        shift = Shift(
            Share(
                sessions={session.session: session for session in SESSIONS},
                plans=[plan_session(session, PLAIN_RULES) for session in SESSIONS],
                rules=ScheduleRules(2, "none", 60_000_000, 42, worker=worker, workers=workers),
                material=Material(build_pool(WordTokenizer()), "ids"),
                settings=ReplaySettings(server.url, "m", Path("run"), "words"),
                origin_ns=time.monotonic_ns(),
                rows=rows,
            )
        )
        return await shift.run(), shift


async def test_whole_run_is_a_single_share(tmp_path: Path) -> None:
    found, shift = await worked(Server(), tmp_path / "rows", 0, 1)
    assert found.completed_plays == {0, 1, 2, 3, 4, 5}
    assert found.done is not None
    assert (found.done.reason, found.interrupted, found.resent) == ("completed", False, 0)
    rows = list(read_row_log(tmp_path / "rows"))
    assert sorted((row.play, row.request) for row in rows) == [(play, n) for play in range(6) for n in (0, 1)]
    tally = shift.tally()
    assert (tally.ended, tally.in_flight, tally.sessions_completed) == ((("profile", None, 12),), 0, 6)
    assert shift.tally().ended == ()


async def test_share_of_a_worker_is_its_lanes_and_plays(tmp_path: Path) -> None:
    found, _ = await worked(Server(), tmp_path / "rows", 1, 2)
    assert found.completed_plays == {1, 3, 5}
    assert {row.lane for row in read_row_log(tmp_path / "rows")} == {1}


async def test_collector_is_given_back_what_it_was_not_to_look_at(tmp_path: Path) -> None:
    await worked(Server(), tmp_path / "rows", 0, 1)
    assert gc.get_freeze_count() == 0

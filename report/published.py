"""What is publicly known of the 393 sessions that the AgentX benchmark replays, to lay over one's own distributions.

They are the data set cc-traces-weka-062126. The percentiles are those that its publisher states: medians of prompt and
answer lengths, of pauses between turns and of the life of a sub-agent; one pause in ten is longer than a minute; of the
sessions 44 % have sub-agents, half of those four or more, which is percentile 78 of all sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PUBLISHED_NAME: Final = "393 published sessions (cc-traces-weka-062126)"

# name of a distribution -> (percentile, value in the distribution's unit)
PUBLISHED: Final[Mapping[str, tuple[tuple[int, float], ...]]] = {
    "input": ((50, 142_000),),
    "output": ((50, 444),),
    "gaps": ((50, 3_840_000), (90, 60_000_000)),
    "children": ((78, 4),),
    "walls": ((50, 136_200_000),),
}

"""What links two requests, and how much each kind of link is worth: the two tables that the rest of this room obeys.

Timestamps show order, not cause. A corpus built from captures also knows which answer called which agent and which
prompt carries whose report; those links win, and time decides only where nothing was heard.

    edge      evidence       the link
    retry     id             the recorder saw the same body again after a failed attempt
    sequence  id             both requests carried the same agent id (captures), no prompt says otherwise (`chains`)
    sequence  prefix         the later prompt begins like the earlier one (imports; asides that go on with one)
    sequence  timing         neither; the source only says that both belong to one agent
    spawn     id             a call whose arguments name an agent that already runs: it is given a new task
    spawn     tool_result    a call whose result names the new agent, or between whose answer and result the child lived
    spawn     notification   a launch between whose answer and notification the child lived (workflows, `launches`)
    spawn     fork           no call heard, but the child begins with its parent's prompt; the request is found by time
    spawn     timing         the parent's most recent request before the child's first; in a workflow, the stage before
    join      notification   a prompt of the parent carries the child's task notification
    join      agent_message  a prompt of the parent carries the child's message
    join      tool_result    a prompt of the parent carries the result of the call, and the child was done by then; a
                             result that comes earlier, or of a call reported on by other means as well, only
                             acknowledges the launch and joins nothing
    join      timing         the parent's first request that starts at or after the child's end
    aux       tool_result    the answer whose call was open while a search, fetch, check or hook ran, and no other was;
                             it joins the request with that call's result, by the same evidence
    aux       timing         the most recent earlier request of the agent that the aside serves; of one-offs likewise
"""

from __future__ import annotations

from typing import Final

from corpus.session import Evidence

# Strongest first; when two rules find the same edge, the stronger one names it.
STRENGTH: Final[tuple[Evidence, ...]] = (
    "id",
    "tool_result",
    "notification",
    "agent_message",
    "fork",
    "prefix",
    "timing",
)


def stronger(one: Evidence, other: Evidence) -> Evidence:
    return min(one, other, key=STRENGTH.index)

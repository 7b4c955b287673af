"""What a data set is made of, in eight distributions: does a sample look like the traffic it stands for?

Sub-agents are agents of a kind that works for another one; asides (titles, searches) are requests, never turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corpus.graph import task_time_us
from corpus.purpose import STEPS
from corpus.session import Session
from report.chart import Unit, draw_chart
from report.histogram import histogram
from report.lineage import cached_tokens, steps
from report.published import PUBLISHED, PUBLISHED_NAME

_CHILDREN: Final = ("subagent", "workflow", "fork")

# name of the sample, question, x axis, unit
_CHARTS: Final[tuple[tuple[str, str, str, Unit], ...]] = (
    ("input", "How long are prompts? (ISL)", "prompt tokens a request", "tokens"),
    ("output", "How long are answers? (OSL)", "answer tokens a request", "tokens"),
    ("uncached", "How much of a prompt is new?", "prompt tokens not seen before in the session, a request", "tokens"),
    ("gaps", "How long is it quiet between two steps?", "end of a step to start of the agent's next", "us"),
    ("turns", "How many turns has a session?", "steps of the main agent", "number"),
    ("children", "How many sub-agents has a session?", "sub-agents a session", "number"),
    ("walls", "How long does a sub-agent live?", "first start to last end", "us"),
    ("cached", "How much of a session's prompts repeats?", "share of prompt tokens, a session", "share"),
)
_BETTER: Final = {"cached": "More repeats: more for a cache to serve."}


@dataclass(slots=True)
class Samples:
    """Values of each distribution by its name; `left_out` says what has no value."""

    values: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name, *_ in _CHARTS})
    overlapping: int = 0  # steps that began before the last one ended
    open_ended: int = 0  # steps after one whose end is unknown
    unknown_answers: int = 0


def collect_samples(sessions: Iterable[Session]) -> Samples:
    samples = Samples()
    for session in sessions:
        _add(samples, session)
    return samples


def draw_distributions(samples: Samples, other: Samples | None = None, names: tuple[str, str] = ("", "")) -> list[Any]:
    """One chart a distribution; `other` is laid over it, both as shares, or what is known of the published sessions."""
    notes = _notes(samples)
    return [
        draw_chart(
            histogram(
                question,
                axis,
                unit,
                samples.values[name],
                names=names,
                other=None if other is None else other.values[name],
                better=_BETTER.get(name, ""),
                notes=notes.get(name, ()),
                known=(PUBLISHED_NAME, PUBLISHED.get(name, ()) if other is None else ()),
            )
        )
        for name, question, axis, unit in _CHARTS
    ]


def _add(samples: Samples, session: Session) -> None:
    values, cached = samples.values, cached_tokens(session)
    prompts = [r.input_tokens for r in session.requests]
    answers = [r.output_tokens for r in session.requests if r.output_tokens is not None]
    values["input"] += prompts
    values["output"] += answers
    samples.unknown_answers += len(prompts) - len(answers)
    values["uncached"] += [prompt - hit for prompt, hit in zip(prompts, cached, strict=True)]
    values["turns"].append(sum(r.agent == 0 and r.purpose in STEPS for r in session.requests))
    children = [agent.agent for agent in session.agents if agent.kind in _CHILDREN]
    values["children"].append(len(children))
    values["walls"] += [task_time_us(r for r in session.requests if r.agent == child) for child in children]
    if sum(prompts):
        values["cached"].append(sum(cached) / sum(prompts))
    _add_gaps(samples, session)


def _add_gaps(samples: Samples, session: Session) -> None:
    for before, after in steps(session):
        if before.t_end_us is None:
            samples.open_ended += 1
        elif before.t_end_us > after.t_start_us:
            samples.overlapping += 1
        else:
            samples.values["gaps"].append(after.t_start_us - before.t_end_us)


def _notes(samples: Samples) -> dict[str, Sequence[str]]:
    """What of the first data set is in no bin."""
    gaps = [
        (samples.overlapping, "began before the last one ended"),
        (samples.open_ended, "follow one whose end is unknown"),
    ]
    return {
        "gaps": [f"{number:,} steps {words}: no pause" for number, words in gaps if number],
        "output": [f"{samples.unknown_answers:,} answers of unknown length"] if samples.unknown_answers else [],
    }

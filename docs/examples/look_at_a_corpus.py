# %% [markdown]
# # Looking at a corpus
#
# A corpus is five Parquet tables. This walks through one with pandas: how large prompts are, how far they repeat, how
# they grow, who waits for whom, and which cache would serve them. Cells begin with `# %%`, as Jupyter, VS Code and
# PyCharm know them; `python docs/examples/look_at_a_corpus.py CORPUS` runs it whole.

# %%
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import corpus

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "corpus"
source = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
opened = corpus.open(source)
print(f"{source.name}: made with {opened.card.created_by}, tokens of {opened.card.tokenizer}")

# %% [markdown]
# Arrow tables are properties (`opened.requests`); `frame` gives the same to pandas. Unknown stays unknown (`<NA>`).

# %%
sessions = opened.frame("sessions")
agents = opened.frame("agents")
requests = opened.frame("requests")
edges = opened.frame("edges")
print(f"{len(sessions)} sessions, {len(agents)} agents, {len(requests)} requests, {len(edges)} edges")

# %% [markdown]
# How long are prompts and answers, and how long do requests take?

# %%
requests["seconds"] = (requests["t_end_us"] - requests["t_start_us"]) / 1e6
print(requests[["input_tokens", "output_tokens", "seconds"]].describe(percentiles=[0.5, 0.9]).round(1))

# %% [markdown]
# A prompt's blocks are stored as "the first `keep` blocks of request `base`, then these runs". So what an unlimited
# cache would serve needs no block list: `keep` is it. Sessions may have their own block size.

# %%
requests = requests.merge(sessions[["session", "block_size"]], on="session")
requests["repeated"] = (requests["keep"] * requests["block_size"]).clip(upper=requests["input_tokens"])
requests["new"] = requests["input_tokens"] - requests["repeated"]
print(
    f"{requests['repeated'].sum() / requests['input_tokens'].sum():.1%} of all prompt tokens repeat an earlier prompt"
)

# %% [markdown]
# How does context grow? A row an agent: its requests, its first and largest prompt, and what was new in them.

# %%
by_agent = requests.merge(agents[["session", "agent", "kind"]], on=["session", "agent"]).groupby(
    ["session", "agent", "kind"]
)
growth = by_agent.agg(
    requests=("request", "size"),
    first=("input_tokens", "first"),
    largest=("input_tokens", "max"),
    new=("new", "sum"),
)
print(growth)

# %% [markdown]
# Who waits for whom? Every edge says its kind, its evidence and what passed between the two moments.

# %%
waits = edges.assign(delay_s=edges["delay_us"] / 1e6).groupby(["kind", "evidence"])["delay_s"]
print(pd.DataFrame({"edges": waits.size(), "median delay, s": waits.median()}).round(3))

# %% [markdown]
# Which cache would serve this, with all sessions live at once? The same as `agentreel simulate --concurrency N --json`.

# %%
from corpus.tables import read_corpus  # noqa: E402 (a notebook imports where it needs)
from report.cache_pass import CacheSetup  # noqa: E402
from report.lanes import prompts_of  # noqa: E402
from report.simulation import simulate  # noqa: E402

prompts = [prompts_of(session, idle_cap_us=300_000_000) for session in read_corpus(source)]
simulated = simulate(prompts, CacheSetup(lanes=len(prompts)))
curve = pd.DataFrame(simulated["capacities"]).set_index("capacity_tokens")["hit_rate"]
print(curve.round(3).to_string())

"""What a request says about itself, gathered by source before anything is concluded from it.

A source is a place and a name: `header:` as sent; `turn:` Codex turn metadata, the body's copy or else the header's;
`flat:` other keys of Codex client_metadata; `user:` what Claude Code packs into metadata.user_id; `body:` a field.
The rest are facts about the request's shape that purposes are told by.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

import orjson

from corpus.exchange import RequestRecord
from wire.api import Api
from wire.errors import WireError
from wire.facts import RequestFacts
from wire.prompt import Part, read_prompt

# (source or place, how what it says begins, harness); the first row that fits. Codex says codex_exec, codex-tui,
# or what a client of its app server likes, but always sends turn metadata. The last five are not measured.
HARNESSES: Final[tuple[tuple[str, str, str], ...]] = (
    ("turn:", "", "codex"),
    ("header:user-agent", "claude-cli/", "claude-code"),
    ("header:user-agent", "codex", "codex"),
    ("header:user-agent", "opencode/", "opencode"),
    ("header:x-opencode-session", "", "opencode"),
    ("header:user-agent", "pi (", "pi"),
    ("header:user-agent", "pi/", "pi"),
    ("header:x-title", "Cline", "cline"),
    ("header:x-task-id", "", "cline"),
    ("header:user-agent", "QwenCode/", "qwen-code"),
    ("header:user-agent", "GeminiCLI", "gemini-cli"),
)
# Speak an API that is not read here, and name their session in the body only.
READ_ANYWAY: Final = frozenset({"gemini-cli"})

_LONG_INSTRUCTION: Final = 4000  # characters; Claude Code asks for a summary in 6.5 to 7.3 thousand
_IDENTITY_ONLY: Final = 200  # characters; Claude Code's identity sentence alone has about 60
_PREFIX_BYTES: Final = 8
_SUMMARY_BETA: Final = "fallback-credit-"  # on requests for a summary, on side questions, and after a refusal
_REMINDER: Final = "<system-reminder>"
_ASIDE: Final = "This is a side question from the user"


@dataclass(frozen=True, slots=True)
class Heard:
    method: str
    path: str
    api: Api
    told: dict[str, str]  # source -> what was said; nothing empty
    facts: RequestFacts
    harness: str | None
    body: bytes  # decoded

    def first(self, sources: tuple[str, ...]) -> str | None:
        return next((self.told[source] for source in sources if source in self.told), None)

    def header(self, name: str) -> str:
        return self.told.get(f"header:{name}", "")

    def turn(self, name: str) -> str:
        return self.told.get(f"turn:{name}", "")

    @property
    def version(self) -> str | None:
        if self.harness is None:
            return None
        product = re.match(r"[^/\s]+/(\d[\w.+-]*)", self.header("user-agent"))
        return self.header("version") or (product[1] if product else None)

    @property
    def is_claude(self) -> bool:
        return self.harness == "claude-code"

    @property
    def is_bare(self) -> bool:
        """Claude Code without any tool: never the conversation itself."""
        return self.is_claude and self.facts.has_tools is False

    @property
    def wants_schema(self) -> bool:
        return self.is_bare and self.facts.json_schema_output is True

    @property
    def wants_title(self) -> bool:
        """A title request sends the prompt in <session>; a prompt hook, of the same shape, sends the conversation."""
        if not self.wants_schema:
            return False
        first = next((part.text for part in self._parts() if part.message == 0), "")
        return first.lstrip().startswith("<session>")

    @property
    def is_agent_hook(self) -> bool:
        """An agent-type hook runs under the id of the agent that tripped it, without thinking and with its own tool."""
        facts = self.facts
        return self.is_claude and "StructuredOutput" in facts.tool_names and facts.thinking_disabled is None

    @property
    def has_identity_only(self) -> bool:
        return self.is_bare and len(self.facts.system_texts_head) < _IDENTITY_ONLY

    @property
    def wants_summary(self) -> bool:
        if not self.is_claude or _SUMMARY_BETA not in self.header("anthropic-beta"):
            return False
        last = self.facts.asked[-1:]
        return any(len(text) >= _LONG_INSTRUCTION and not text.startswith(_REMINDER) for text in last)

    @property
    def asks_aside(self) -> bool:
        """A side question follows the whole conversation, and comes with a reminder that says what it is."""
        return self.is_claude and any(text.startswith(_REMINDER + _ASIDE) for text in self.facts.asked)

    @property
    def prefix(self) -> str:
        """Names what stands before the conversation's second message: equal for all requests of one conversation."""
        digest = hashlib.blake2b(digest_size=_PREFIX_BYTES)
        for part in self._parts():
            if part.message <= 0:
                content = part.digest or part.text
                digest.update(f"{part.kind}\0{part.name}\0{content}\0".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _parts(self) -> tuple[Part, ...]:
        try:
            return read_prompt(self.api, self.body).parts
        except WireError:
            return ()


def gather(record: RequestRecord, body: bytes, facts: RequestFacts) -> Heard:
    """`body`: decoded, b"" when unreadable or absent; the record's own identity is not looked at."""
    told: dict[str, str] = {}
    for name, value in record.headers:
        told.setdefault(f"header:{name.lower()}", value)
    if window := told.get("header:x-codex-window-id"):
        told["header:x-codex-window-id"] = window.rpartition(":")[0]  # <thread>:<number of compactions>
    metadata = facts.client_metadata.get("x-codex-turn-metadata") or told.get("header:x-codex-turn-metadata")
    told |= {f"turn:{name}": value for name, value in _strings(metadata).items()}
    told |= {f"flat:{name}": value for name, value in facts.client_metadata.items()}
    told |= {f"user:{name}": value for name, value in _user_id(facts.metadata_user_id).items()}
    told |= {f"body:{path}": value for path, value in facts.named.items()}
    told["body:model"] = facts.model or ""
    told = {source: value for source, value in told.items() if value}
    return Heard(record.method, record.path, record.api, told, facts, _harness(told), body)


def _strings(text: str | None) -> dict[str, str]:
    try:
        parsed = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return {key: value for key, value in parsed.items() if isinstance(value, str)} if isinstance(parsed, dict) else {}


def _user_id(text: str | None) -> dict[str, str]:
    """Newer clients send JSON in a string, older ones user_<hash>_account_<uuid>_session_<uuid>."""
    old = re.search(r"_session_([0-9a-fA-F-]{36})$", text or "")
    return {"session_id": old[1]} if old else _strings(text)


def is_read(record: RequestRecord) -> bool:
    """Whether the body may say who sent it."""
    return record.api != "other" or _harness({f"header:{n.lower()}": v for n, v in record.headers}) in READ_ANYWAY


def _harness(told: dict[str, str]) -> str | None:
    places = {f"{source.partition(':')[0]}:": "" for source in told}
    said = told | places
    return next((one for source, begin, one in HARNESSES if source in said and said[source].startswith(begin)), None)

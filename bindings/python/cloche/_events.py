"""What a run tells while it goes on, and what it asks.

The supervisor and we say JSON objects to each other, one a line, over a socket
(--session-fd, see docs/node.md). It never waits for us but with a question."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Mapping, Optional, Union


@dataclass(frozen=True)
class Event:
    """One thing that happened in a run. `raw` has all that was said of it."""

    kind: str  # fs.read fs.write net.connect net.dns unix.connect syscall limit exec.later
    verdict: str  # denied allowed observed
    op: str
    object: str
    errno: Optional[str] = None
    pid: Optional[int] = None
    program: Optional[str] = None
    reason: Optional[str] = None
    hint: Optional[str] = None  # the option of `cloche run` that allows it
    count: int = 1
    folded: bool = False  # told before, and once more with its count
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def denied(self) -> bool:
        return self.verdict == "denied"

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Event":
        names = ("kind", "verdict", "op", "object", "errno", "pid", "program", "reason", "hint", "count", "folded")
        return cls(**{"op": "", "object": "", **{name: said[name] for name in names if name in said}}, raw=dict(said))


@dataclass(frozen=True)
class Question:
    """May the command connect there? No list of the policy names it. With "--ask" among the
    options also: may it read or write that file, or connect to that unix socket?"""

    host: str  # "" if it is about something else
    port: int
    kind: str = "host"  # host read write unix
    path: Optional[str] = None  # of the file or socket
    program: Optional[str] = None  # that wants it
    pid: Optional[int] = None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Question":
        if "host" in said:
            return cls(said["host"], said["port"])
        kind = next(kind for kind in ("read", "write", "unix") if kind in said)
        return cls("", 0, kind, said[kind], said.get("program"), said.get("pid"))


class Allow(enum.Enum):
    """How long an answer counts that allows."""

    ONCE = "once"  # the same as True
    RUN = "run"  # for the rest of the run; of a directory that may be written, with all below it
    SESSION = "session"  # that, and for all commands of the Session that are started from then on


Reply = Union[bool, str, Allow]

Ask = Callable[[Question], Reply]
"""Only True and the words of Allow allow. A text denies with that reason."""

AsyncAsk = Callable[[Question], Union[Reply, Awaitable[Reply]]]


def greeting(asks: bool) -> bytes:
    return json.dumps({"ready": True, "asks": asks}).encode() + b"\n"


def answer(number: int, said: object) -> bytes:
    allowed = said is True or isinstance(said, Allow)
    reason = said if isinstance(said, str) and said else "user denied"
    message = {"answer": number, "allow": allowed, **({} if allowed else {"reason": reason})}
    if said in (Allow.RUN, Allow.SESSION):
        message["for"] = "run"
    return json.dumps(message).encode() + b"\n"


def failed_answer(number: int) -> bytes:
    return answer(number, "permission prompt failed")

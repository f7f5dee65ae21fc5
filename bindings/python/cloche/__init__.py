"""Run commands under glass: subprocess, with a policy.

    >>> import cloche
    >>> done = cloche.run(["ls"], policy="preset:dev", capture_output=True, text=True)

It starts the `cloche` binary, which must be the one of the same version.
"""

from ._asynchronous import async_run
from ._command import Answer, Policy, check, command, explain, find_binary
from ._errors import BinaryError, ClocheError, PolicyError, RefusedError
from ._events import Allow, Ask, AsyncAsk, Event, Question
from ._process import CompletedProcess, Popen, run
from ._session import Session

__version__ = "0.1.0"

__all__ = [
    "Allow",
    "Answer",
    "Ask",
    "AsyncAsk",
    "BinaryError",
    "ClocheError",
    "CompletedProcess",
    "Event",
    "Policy",
    "PolicyError",
    "Popen",
    "Question",
    "RefusedError",
    "Session",
    "async_run",
    "check",
    "command",
    "explain",
    "find_binary",
    "run",
]

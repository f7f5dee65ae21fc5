"""The same for programs with an event loop."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import socket
import subprocess
from typing import Any, Callable, List, Optional, Sequence, Set, Union

from ._command import Policy, StrPath, command, passed, told
from ._errors import RefusedError
from ._events import AsyncAsk, Event, Question, answer, failed_answer, greeting
from ._process import REFUSED, SETTLING, CompletedProcess

LINE_MAX = 256 * 1024


class _Listener:
    """Hears one run, and answers it."""

    def __init__(self, ask: Optional[AsyncAsk], on_event: Optional[Callable[[Event], None]]) -> None:
        self.events: List[Event] = []
        self._ask = ask
        self._on_event = on_event
        self._answering: Set["asyncio.Task[None]"] = set()

    async def listen(self, ours: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_MAX)
        try:
            while True:
                line = await reader.readline()
                said = json.loads(line) if line else {"end": True}
                if said.get("end"):
                    return
                self._hear(writer, said)
        except (OSError, ValueError):
            pass  # it is gone
        finally:
            for task in self._answering:
                task.cancel()
            writer.close()

    def _hear(self, writer: asyncio.StreamWriter, said: Any) -> None:
        if "hello" in said:
            writer.write(greeting(self._ask is not None))
        elif "ask" in said:
            task = asyncio.ensure_future(self._answer(writer, said))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif said.get("kind") not in (None, "run"):
            event = Event.of(said)
            self.events.append(event)
            if self._on_event:
                self._on_event(event)

    async def _answer(self, writer: asyncio.StreamWriter, said: Any) -> None:
        try:
            given = self._ask(Question.of(said)) if self._ask else False
            words = answer(said["ask"], await given if inspect.isawaitable(given) else given)
        except Exception:  # whatever the callback raises is a no
            words = failed_answer(said["ask"])
        writer.write(words)


async def async_run(args: Union[str, Sequence[StrPath]], *, policy: Policy = None, project: Optional[StrPath] = None,
                    options: Sequence[str] = (), binary: Optional[StrPath] = None, ask: Optional[AsyncAsk] = None,
                    on_event: Optional[Callable[[Event], None]] = None, input: Optional[bytes] = None,
                    capture_output: bool = False, check: bool = False, pass_fds: Sequence[int] = (),
                    **keywords: Any) -> CompletedProcess:
    """As run(), awaited; `ask` may be a coroutine function. To bound it in time:
    asyncio.wait_for, which ends the command too."""
    if input is not None:
        keywords["stdin"] = subprocess.PIPE
    if capture_output:
        keywords["stdout"] = keywords["stderr"] = subprocess.PIPE
    listener = _Listener(ask, on_event)
    ours, theirs = socket.socketpair()
    held, lifeline = os.pipe()
    listening = None
    try:
        ours_too = told(theirs.fileno(), held, ask is not None)
        words = command(args, policy=policy, project=project, options=[*options, *passed(pass_fds, options), *ours_too],
                        binary=binary)
        process = await asyncio.create_subprocess_exec(*words, pass_fds=(*pass_fds, theirs.fileno(), held), **keywords)
        theirs.close()
        listening = asyncio.ensure_future(listener.listen(ours))
        stdout, stderr = await process.communicate(input)
        await asyncio.wait([listening], timeout=SETTLING)
    finally:
        os.close(lifeline)  # with which the run ends, if it has not
        os.close(held)
        theirs.close()
        if listening is None:
            ours.close()
    status = process.returncode if process.returncode is not None else REFUSED
    done = CompletedProcess(args, status, stdout, stderr, listener.events)
    if check and status == REFUSED:
        raise RefusedError(status, args, stdout, stderr)
    if check:
        done.check_returncode()
    return done

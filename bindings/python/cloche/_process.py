"""subprocess.Popen and subprocess.run, under glass.

Each run has a socket to us, by which it tells and asks, served by a thread, and a
pipe as its lifeline: it ends with this process, however that ends."""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import threading
from typing import Any, Callable, Iterator, List, Optional, Sequence, Union

from ._command import Policy, StrPath, command, passed, told
from ._errors import RefusedError
from ._events import Ask, Event, Question, answer, failed_answer, greeting

REFUSED = 125
SETTLING = 5.0  # seconds for the last events of a run that has ended


class CompletedProcess(subprocess.CompletedProcess):
    """As subprocess has it, with the events of the run."""

    def __init__(self, args: Any, returncode: int, stdout: Any, stderr: Any, events: List[Event]) -> None:
        super().__init__(args, returncode, stdout, stderr)
        self.events = events

    @property
    def denied(self) -> List[Event]:
        """What was denied, each once."""
        return [event for event in self.events if event.denied and not event.folded]

    @property
    def refused(self) -> bool:
        """Did the command not even start?"""
        return self.returncode == REFUSED


class Popen(subprocess.Popen):
    """A command under glass, started as subprocess.Popen starts one."""

    def __init__(self, args: Union[str, Sequence[StrPath]], *, policy: Policy = None, project: Optional[StrPath] = None,
                 options: Sequence[str] = (), binary: Optional[StrPath] = None, ask: Optional[Ask] = None,
                 on_event: Optional[Callable[[Event], None]] = None, pass_fds: Sequence[int] = (), **keywords: Any) -> None:
        for name in ("shell", "executable", "preexec_fn"):
            if keywords.pop(name, None):
                raise TypeError(f"{name} cannot be used: a text is for a shell, and cloche starts the command")
        self._ask = ask
        self._on_event = on_event
        self._queue: "queue.Queue[Optional[Event]]" = queue.Queue()
        ours, theirs = socket.socketpair()
        held, lifeline = os.pipe()
        try:
            ours_too = told(theirs.fileno(), held, ask is not None)
            words = command(args, policy=policy, project=project, options=[*options, *passed(pass_fds, options), *ours_too],
                            binary=binary)
            super().__init__(words, pass_fds=(*pass_fds, theirs.fileno(), held), **keywords)
        except BaseException:
            ours.close()
            os.close(lifeline)
            raise
        finally:
            theirs.close()
            os.close(held)
        self._lifeline = lifeline
        self._listener = threading.Thread(target=self._listen, args=(ours,), name="cloche", daemon=True)
        self._listener.start()

    def events(self) -> Iterator[Event]:
        """What happens in the run, while it happens; ends with it. For one reader."""
        while True:
            event = self._queue.get()
            if event is None:
                self._queue.put(None)
                return
            yield event

    def wait(self, timeout: Optional[float] = None) -> int:
        status = super().wait(timeout)
        # The last of its events came before its end.
        if threading.current_thread() is not self._listener:
            self._listener.join(SETTLING)
        self._cut()
        return status

    def end(self) -> None:
        """Ends the run with everything in it, in order: as if this program had ended."""
        self._cut()

    def _cut(self) -> None:
        lifeline, self._lifeline = getattr(self, "_lifeline", -1), -1
        if lifeline >= 0:
            os.close(lifeline)

    def __del__(self, *arguments: Any, **keywords: Any) -> None:
        self._cut()
        super().__del__(*arguments, **keywords)

    def _listen(self, ours: socket.socket) -> None:
        try:
            with ours, ours.makefile("rb") as lines:
                for line in lines:
                    said = json.loads(line)
                    if said.get("end"):
                        break
                    self._hear(ours, said)
        except (OSError, ValueError):
            pass  # it is gone
        finally:
            self._queue.put(None)

    def _hear(self, ours: socket.socket, said: Any) -> None:
        if "hello" in said:
            ours.sendall(greeting(self._ask is not None))
        elif "ask" in said:
            # In a thread of its own: others need not wait for this answer.
            threading.Thread(target=self._answer, args=(ours, said), daemon=True).start()
        elif said.get("kind") not in (None, "run"):
            event = Event.of(said)
            self._queue.put(event)
            if self._on_event:
                self._on_event(event)

    def _answer(self, ours: socket.socket, said: Any) -> None:
        try:
            words = answer(said["ask"], self._ask(Question.of(said)) if self._ask else False)
        except Exception:  # whatever the callback raises is a no
            words = failed_answer(said["ask"])
        try:
            ours.sendall(words)
        except OSError:
            pass


def run(args: Union[str, Sequence[StrPath]], *, policy: Policy = None, project: Optional[StrPath] = None,
        options: Sequence[str] = (), binary: Optional[StrPath] = None, ask: Optional[Ask] = None,
        on_event: Optional[Callable[[Event], None]] = None, input: Any = None,  # pylint: disable=redefined-builtin
        capture_output: bool = False, timeout: Optional[float] = None, check: bool = False,
        **keywords: Any) -> CompletedProcess:
    """As subprocess.run. The result has `events` and `denied` too; with check=True a
    command that was not even started raises RefusedError."""
    if input is not None:
        keywords["stdin"] = subprocess.PIPE
    if capture_output:
        keywords["stdout"] = keywords["stderr"] = subprocess.PIPE
    with Popen(args, policy=policy, project=project, options=options, binary=binary, ask=ask, on_event=on_event,
               **keywords) as process:
        try:
            stdout, stderr = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
        status = process.wait()
    done = CompletedProcess(args, status, stdout, stderr, list(process.events()))
    if check and status == REFUSED:
        raise RefusedError(status, args, stdout, stderr)
    if check:
        done.check_returncode()
    return done

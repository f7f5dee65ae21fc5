"""Commands that share a policy, a project and a /tmp.

The /tmp is a descriptor of ours (`cloche session --fd`): it is gone with this
object, and with this process however it ends."""

from __future__ import annotations

import inspect
import os
import socket
import subprocess
from typing import Any, Iterable, List, Optional, Sequence, Tuple, Union

from ._asynchronous import async_run
from ._command import Answer, Policy, StrPath, command, explain, find_binary, lines_of, option_words
from ._errors import PolicyError
from ._events import Allow, AsyncAsk, Question
from ._process import CompletedProcess, Popen, run


class Session:
    """What its methods start shares a /tmp that nobody else sees, unless the policy's
    filesystem.tmp is "private" or "host". For a `with` statement, or until close()."""

    def __init__(self, *, policy: Policy = None, project: Optional[StrPath] = None, options: Sequence[str] = (),
                 binary: Optional[StrPath] = None) -> None:
        self._held: Optional[int] = None
        self._closed = False
        self._all = {"policy": policy, "project": project, "binary": find_binary(binary)}
        self._options = list(options)
        said = explain("read:/", **self._all, options=self._options).raw.get("tmp")
        self._wanted = said == "session"
        if said not in ("private", "host"):
            self._held, why = self._make()
            if self._held is None and self._wanted:
                raise PolicyError(why)

    def _make(self) -> Tuple[Optional[int], List[str]]:
        words = option_words(self._all["policy"], self._all["project"], self._options)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            made = subprocess.run([self._all["binary"], "session", "--fd", str(theirs.fileno()), *words],
                                  pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if made.returncode != 0:
                return None, lines_of(made.stderr)
            _, held, _, _ = socket.recv_fds(ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
        return held[0], []

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """No command can be started any more; the /tmp is gone with the last that runs."""
        held, self._held, self._closed = self._held, None, True
        if held is not None:
            os.close(held)

    def __del__(self) -> None:
        held = getattr(self, "_held", None)
        if held is not None:
            os.close(held)

    def _grant(self, question: Question) -> None:
        if question.path is None:
            host = f"[{question.host}]" if ":" in question.host else question.host
            self._options += ["--allow-domain", f"{host}:{question.port}"]
        elif not set("*?[") & set(question.path):  # an option would take it for a pattern
            self._options += [f"--allow-{question.kind}", question.path.replace("$", "$$")]

    def _asking(self, ask: AsyncAsk) -> AsyncAsk:
        async def later(question: Question, given: Any) -> Any:
            return note(question, await given)

        def note(question: Question, reply: Any) -> Any:
            if reply is Allow.SESSION:
                self._grant(question)
            return reply

        def asked(question: Question) -> Any:
            reply = ask(question)
            return later(question, reply) if inspect.isawaitable(reply) else note(question, reply)

        return asked

    def _with_ours(self, keywords: Any) -> Any:
        if self._closed:
            raise ValueError("the session is closed")
        if keywords.get("ask"):
            keywords["ask"] = self._asking(keywords["ask"])
        fds: Iterable[int] = keywords.pop("pass_fds", ())
        options = [*self._options, *keywords.pop("options", ())]
        if self._held is None:
            return {**self._all, **keywords, "options": options, "pass_fds": tuple(fds)}
        options += ["--session-tmp", f"/proc/self/fd/{self._held}"]
        return {**self._all, **keywords, "options": options, "pass_fds": (*fds, self._held)}

    def run(self, args: Union[str, Sequence[StrPath]], **keywords: Any) -> CompletedProcess:
        """As cloche.run."""
        return run(args, **self._with_ours(keywords))

    def popen(self, args: Union[str, Sequence[StrPath]], **keywords: Any) -> Popen:
        """As cloche.Popen."""
        return Popen(args, **self._with_ours(keywords))

    async def async_run(self, args: Union[str, Sequence[StrPath]], **keywords: Any) -> CompletedProcess:
        """As cloche.async_run."""
        return await async_run(args, **self._with_ours(keywords))

    def explain(self, *questions: str, **keywords: Any) -> Answer:
        """As cloche.explain."""
        return explain(*questions, **{**self._all, "options": self._options, **keywords})

    def command(self, args: Union[str, Sequence[StrPath]]) -> List[str]:
        """As cloche.command. It shares the /tmp where the policy says "session", and then
        works as long as this session does."""
        if self._closed:
            raise ValueError("the session is closed")
        shared = ["--session-tmp", f"/proc/{os.getpid()}/fd/{self._held}"] if self._wanted else []
        return command(args, **self._all, options=[*self._options, *shared])

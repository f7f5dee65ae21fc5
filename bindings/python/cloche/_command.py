"""The binary, and command lines for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import BinaryError, PolicyError

StrPath = Union[str, "os.PathLike[str]"]

Policy = Union[StrPath, Mapping[str, Any], Sequence[Union[StrPath, Mapping[str, Any]]], None]
"""A file, "preset:NAME", a policy itself, several of these (merged in order), or None:
the one that cloche finds."""

VERSION = "0.1.0"
TEXT_MAX = 128 * 1024 - 1  # the kernel's limit for one argument

_known = {}  # binary -> when it was found good


def find_binary(named: Optional[StrPath] = None) -> str:
    """`named`, else $CLOCHE, else the first on PATH; refused if it is not our version."""
    wanted = os.fspath(named) if named is not None else os.environ.get("CLOCHE") or "cloche"
    found = shutil.which(wanted)
    if found is None:
        raise BinaryError(f"there is no program {wanted!r}; install cloche (make install), or name it in $CLOCHE or by binary=")
    status = os.stat(found)
    identity = (status.st_dev, status.st_ino, status.st_mtime_ns)
    if _known.get(found) == identity:
        return found
    try:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise BinaryError(f"{found} cannot be run: {problem}") from problem
    if said != f"cloche {VERSION}":
        raise BinaryError(f"{found} is {said or 'something else'!r}, but this package is for cloche {VERSION}")
    _known[found] = identity
    return found


def _policy_words(policy: Policy) -> List[str]:
    if policy is None:
        return []
    if isinstance(policy, Mapping):
        text = json.dumps(policy)
        if len(text.encode()) > TEXT_MAX:
            raise PolicyError(["the policy is too long for a command line: put it into a file"])
        return ["--settings", text]
    if isinstance(policy, (str, os.PathLike)):
        name = os.fspath(policy)
        if name.startswith("preset:"):
            return ["--preset", name[len("preset:"):]]
        # What begins with a brace would be taken for a policy itself.
        return ["--settings", name if name.startswith(("/", "codex:")) else os.path.abspath(name)]
    return [word for part in policy for word in _policy_words(part)]


def option_words(policy: Policy, project: Optional[StrPath], options: Sequence[str]) -> List[str]:
    words = _policy_words(policy)
    if project is not None:
        words += ["--project", os.path.abspath(project)]
    return words + list(options)


def told(theirs: int, lifeline: int, asks: bool) -> List[str]:
    """Options of a run that tells and asks us, and ends with us. There is a filter only where
    some host may be reached: this one is nobody's, and the rest is asked about."""
    words = ["--session-fd", str(theirs), "--lifeline-fd", str(lifeline)]
    return [*words, "--allow-domain", "nobody.invalid:1"] if asks else words


_ABOUT_DESCRIPTORS = {"--control-fd", "--events", "--lifeline-fd", "--pass-fd", "--session-fd", "--session-tmp"}


def passed(descriptors: Iterable[int], options: Sequence[str]) -> List[str]:
    """Options that give descriptors to the command, but for those that another option is about: those are cloche's."""
    ours = set()
    for before, word in zip(["", *options], options):
        option, value = word.split("=", 1) if word.startswith("--") and "=" in word else (before, word)
        if option in _ABOUT_DESCRIPTORS:
            ours.add(value.rpartition("/")[2].rpartition(":")[2])
    return [word for fd in descriptors if str(fd) not in ours for word in ("--pass-fd", str(fd))]


def command(args: Union[str, Sequence[StrPath]], *, policy: Policy = None, project: Optional[StrPath] = None,
            options: Sequence[str] = (), binary: Optional[StrPath] = None) -> List[str]:
    """The words that run `args` under glass, for whoever starts processes by himself. A
    text is for a shell. `options` are those of `cloche run`."""
    start = [find_binary(binary), "run", *option_words(policy, project, options)]
    if isinstance(args, str):
        return [*start, "-c", args]
    words = [os.fspath(word) for word in args]
    if not words:
        raise ValueError("no command given")
    return [*start, "--", *words]


@dataclass(frozen=True)
class Answer:
    """What explain says. It is true if all of it is allowed."""

    allowed: bool
    raw: Mapping[str, Any]

    def __bool__(self) -> bool:
        return self.allowed


def explain(*questions: str, policy: Policy = None, project: Optional[StrPath] = None, options: Sequence[str] = (),
            binary: Optional[StrPath] = None, cwd: Optional[StrPath] = None) -> Answer:
    """May a run with these options do it? "read:/etc/passwd", "write:x", "net:example.com:443", ..."""
    if not questions:
        raise ValueError("no question given")
    words = [find_binary(binary), "explain", "--json", *option_words(policy, project, options), *questions]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd)
    if ran.returncode not in (0, 1):
        raise PolicyError(lines_of(ran.stderr))
    return Answer(ran.returncode == 0, json.loads(ran.stdout))


def check(policy: StrPath, *, binary: Optional[StrPath] = None) -> Tuple[bool, List[str]]:
    """Is a policy file valid? And what is said about it."""
    name = os.fspath(policy)
    ran = subprocess.run([find_binary(binary), "check", name], capture_output=True, text=True, check=False)
    return ran.returncode == 0, lines_of(ran.stdout + ran.stderr)


def lines_of(text: str) -> List[str]:
    return [line for line in text.splitlines() if line]

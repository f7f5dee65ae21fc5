"""What can go wrong, each with a class of its own."""

from __future__ import annotations

import subprocess
from typing import Sequence


class ClocheError(Exception):
    """The base of all of them."""


class BinaryError(ClocheError):
    """There is no cloche, or it is another version than this package is for."""


class PolicyError(ClocheError):
    """A policy that cannot be used. `problems` has a line for each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class RefusedError(ClocheError, subprocess.CalledProcessError):
    """With check=True: cloche refused, or failed, before the command started (status 125)."""

    def __str__(self) -> str:
        said = self.stderr.decode(errors="replace") if isinstance(self.stderr, bytes) else self.stderr
        return f"cloche refused to run {self.cmd!r}" + (f": {said.strip()}" if said else "")

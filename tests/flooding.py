"""A command that does nothing but what is refused, as fast as it can, each time with another name."""

import json
import signal
import subprocess
import time

from judging import PATIENCE, start

# It answers each SIGUSR1 with a line, and says at the end how often it was refused.
FLOOD = """
import os, signal, sys
place, count = sys.argv[1], int(sys.argv[2])
signal.signal(signal.SIGUSR1, lambda *_: print("here", flush=True))
print("here", flush=True)
refused = 0
for number in range(count):
    try: os.open(f"{place}/flood-{number}", os.O_CREAT | os.O_WRONLY)
    except OSError as problem: refused += problem.errno in (13, 30)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
print(refused, flush=True)
"""


def flood(place, count):
    return ["/usr/bin/python3", "-c", FLOOD, place, str(count)]


def supervisor_kilobytes(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            return next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def check_flood(person, count, pause):
    """All are refused and counted, few are kept, and who is asked meanwhile answers: a signal every `pause` seconds."""
    place = person.directory(person.base / "out")
    told = person.base / "flood.jsonl"
    log = person.home / ".local/state/cloche"
    run = start(person, "run", "--events", told, "--allow-read", place, "--", *flood(place, count))
    memory, answers = [], []
    try:
        line = run.stdout.readline()
        while line == "here\n":
            time.sleep(pause)
            memory.append(supervisor_kilobytes(run.pid))
            sent = time.monotonic()
            run.send_signal(signal.SIGUSR1)
            line = run.stdout.readline()
            answers.append(time.monotonic() - sent)
        _, said = run.communicate(timeout=PATIENCE)
    finally:
        run.kill()
        run.wait()
    assert (line, run.returncode) == (f"{count}\n", 0), said
    lines = [json.loads(text) for text in told.read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["denied"] == count
    assert 100 < len(lines) < 3000
    assert lines[-2]["object"] == "more of this kind" and lines[-2]["count"] == count - (len(lines) - 3)
    assert told.stat().st_size < 4 * 1024 * 1024
    assert sum(path.stat().st_size for path in log.iterdir()) < 6 * 4 * 1024 * 1024
    assert len(said) < 4096
    # The last one may have come when it had ended.
    assert len(answers) > 3 and max(answers[:-1]) < 10, answers
    assert 100 < max(memory) < 16 * 1024, memory
    return max(memory), max(answers[:-1])


def check_time_out(person):
    place = person.directory(person.base / "out")
    began = time.monotonic()
    run = start(person, "run", "--timeout", "2", "--allow-read", place, "--", *flood(place, 10**9), stdout=subprocess.DEVNULL)
    _, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 137 and "limits.wallSeconds" in said, said
    assert 2 <= time.monotonic() - began < 20

"""Work inside beside the same work outside, for bench/run: git and a compiler, npm, new files, connections.

Each is done in turn inside and outside (and by peers, where they can do it), in another order each time, in a fresh
directory; the ratio of the medians counts."""

import json
import os
import pathlib
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

CREATES = 20_000
CREATE_PAIRS = 3
WORK_PAIRS = 25
WATCH_PAIRS = 9
REFUSED = 20_000
LATE_FILES = 50
ASK_PAIRS = 25
NPM_PAIRS = 5
CONNECT_PAIRS = 9
SOURCES = 40

STRACE = ["strace", "-f", "-qq", "-e", "trace=%file", "-o", "/dev/null"]

# A few that bring hundreds with them.
NPM_PACKAGES = {"jest": "29.7.0", "eslint": "8.57.1", "webpack": "5.105.0", "@babel/preset-env": "7.28.0",
                "typescript": "5.9.3"}
NPM_PACKAGES_MIN = 300

GIT_AND_COMPILER = f"""
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q .
for i in $(seq {SOURCES}); do
    printf '#include <stdio.h>\\nint f%d(void) {{ return printf("%%d", %d); }}\\n' $i $i >file$i.c
done
git add -A
git commit -qm first
for i in $(seq {SOURCES}); do cc -O1 -c file$i.c -o file$i.o; done
ar rcs libfiles.a *.o
git status --porcelain >/dev/null
rm *.o
git add -A
git commit -qm second
"""


class Problem(Exception):
    """Why something was not measured."""


def run(words, cwd, environment=None, handed=()):
    """What it printed, and how many seconds it took."""
    start = time.perf_counter()
    done = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})}, pass_fds=handed)
    took = time.perf_counter() - start
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Problem(f"{' '.join(map(str, words[:3]))}: status {done.returncode}: {lines[-1] if lines else 'silent'}")
    return done.stdout, took


def in_turn(ways, pairs, measure):
    """The median of what `measure(name, words, number)` says of each way; one that fails is left out, with a line."""
    found = {name: [] for name in ways}
    for number in range(pairs):
        for name in sorted(ways, reverse=bool(number % 2)):
            if found[name] is None:
                continue
            try:
                found[name].append(measure(name, ways[name], number))
            except Problem as problem:
                print(f"  {name} not measured: {problem}")
                found[name] = None
    return {name: statistics.median(values) for name, values in found.items() if values}


def fresh(scratch, name):
    """Another directory each time, and the last one stays: ext4 gives no inode away again for a minute or more, and
    looks through all that were freed for each new file (some 300 us after a few rounds, whoever asks)."""
    return pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=scratch))


def print_git_and_compiler(cloche, scratch, judge, results):
    words = ["sh", "-c", GIT_AND_COMPILER]
    ways = {"outside": words, "inside": [cloche, "run", *words]}

    def measure(_, command, __):
        return run(command, fresh(scratch, "git-and-compiler"))[1]

    medians = in_turn(ways, WORK_PAIRS, measure)
    if len(medians) == 2:
        ratio = medians["inside"] / medians["outside"]
        print(f"git and {SOURCES} compilations: {medians['outside'] * 1000:.0f} ms outside, "
              f"{medians['inside'] * 1000:.0f} ms inside: {ratio:.3f}  {judge('git and compiler', ratio, results)}")


def watching(mode):
    return ["-s", json.dumps({"extends": ["preset:dev"], "violation": {"watch": mode}})]


def print_watching(cloche, scratch, judge, results):
    """What it costs to be told of what is refused where nothing is, beside what strace takes for it. The second number
    of each is processor time, which others on the machine disturb less."""
    words = ["sh", "-c", GIT_AND_COMPILER]
    ways = {f"watch {mode}": [cloche, "run", *watching(mode), *words] for mode in ("off", "writes", "all")}
    if shutil.which("strace"):
        ways["strace"] = [*STRACE, *words]
    worked = {name: [] for name in ways}

    def measure(name, command, _):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = run(command, fresh(scratch, "watching"))[1]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        worked[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return took

    medians = in_turn(ways, WATCH_PAIRS, measure)
    processor = {name: statistics.median(worked[name]) for name in medians}
    results["seconds of git and compiler, watched"] = medians
    results["seconds of processor for it"] = processor
    if "watch off" not in medians or "watch writes" not in medians:
        return
    told = ", ".join(f"{name} {value * 1000:.0f} ms ({value / medians['watch off']:.3f}, "
                     f"{processor[name] / processor['watch off']:.3f})" for name, value in medians.items())
    ratio = medians["watch writes"] / medians["watch off"]
    print(f"The same with what is refused told of: {told}  {judge('watching writes', ratio, results)}")


def print_refused(cloche, build, scratch, results):
    """Each is another name, so that few are folded; outside, the kernel refuses to make files in /proc."""
    project, outside = fresh(scratch, "refused"), fresh(scratch, "refused-outside")
    program = str(shutil.copy(build / "bench" / "bench_creates", project / "bench_creates"))
    words = {place: [program, "refused", str(place), str(REFUSED)] for place in ("/proc", outside)}
    ways = {f"watch {mode}": [cloche, "run", "-q", *watching(mode), "--allow-read", str(outside), *words[outside]]
            for mode in ("off", "writes")}
    ways["native"] = words["/proc"]
    if shutil.which("strace"):
        ways["strace"] = [*STRACE, *words["/proc"]]
    # Its log is not the user's.
    environment = {"XDG_STATE_HOME": str(fresh(scratch, "refused-state"))}
    medians = in_turn(ways, CREATE_PAIRS, lambda _, command, __: float(run(command, project, environment)[0]))
    results["microseconds per refused open"] = medians
    print(f"{REFUSED:,} refused opens, each: " + ", ".join(f"{name} {value:.1f} us" for name, value in medians.items()))


def print_late_opens(cloche, build, scratch, results):
    """A pattern over what may be read has the doorman perform every open: a rule of one's own, in no preset."""
    project = fresh(scratch, "late-opens")
    program = str(shutil.copy(build / "bench" / "bench_opens", project / "bench_opens"))
    for number in range(LATE_FILES):
        (project / f"file{number}").write_text("x")
    late = [cloche, "run", "-q", "--deny-read", "**/.secret*"]
    opens = [program, *(f"file{number}" for number in range(LATE_FILES))]
    work = ["sh", "-c", GIT_AND_COMPILER]
    ways = {"native": opens, "cloche": [cloche, "run", "-q", *opens], "late pattern": [*late, *opens]}
    works = {"native": work, "cloche": [cloche, "run", "-q", *work], "late pattern": [*late, *work]}
    if shutil.which("strace"):
        ways["strace"], works["strace"] = [*STRACE, *opens], [*STRACE, *work]
    medians = in_turn(ways, CREATE_PAIRS, lambda _, command, __: float(run(command, project)[0]) / 1000)
    seconds = in_turn(works, CREATE_PAIRS, lambda _, command, __: run(command, fresh(scratch, "late-work"))[1])
    results["microseconds per open"], results["seconds of git and compiler, late pattern"] = medians, seconds
    print("Opens for reading, each: " + ", ".join(f"{name} {value:.1f} us ({value / medians['native']:.1f})"
                                                  for name, value in medians.items()))
    print("Git and compiler with a pattern over what may be read: " +
          ", ".join(f"{name} {value * 1000:.0f} ms ({value / seconds['native']:.2f})" for name, value in seconds.items()))


def print_asking(cloche, build, scratch, results):
    """What it costs that somebody could be asked where nothing is: starting a command, opening a file, work."""
    project = fresh(scratch, "asking")
    program = str(shutil.copy(build / "bench" / "bench_opens", project / "bench_opens"))
    for number in range(LATE_FILES):
        (project / f"file{number}").write_text("x")
    opens = [program, *(f"file{number}" for number in range(LATE_FILES))]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        number = theirs.fileno()
        asked = [cloche, "run", "-q", "--ask", "--control-fd", str(number)]
        plain = [cloche, "run", "-q"]
        starts = in_turn({"plain": [*plain, "true"], "asking": [*asked, "true"]}, ASK_PAIRS,
                         lambda _, command, __: run(command, project, handed=[number])[1] * 1000)
        opened = in_turn({"plain": [*plain, *opens], "asking": [*asked, *opens]}, CREATE_PAIRS,
                         lambda _, command, __: float(run(command, project, handed=[number])[0]) / 1000)
        work = ["sh", "-c", GIT_AND_COMPILER]
        worked = in_turn({"plain": [*plain, *work], "asking": [*asked, *work]}, CREATE_PAIRS,
                         lambda _, command, __: run(command, fresh(scratch, "asking-work"), handed=[number])[1])
    results["asking"] = {"launch milliseconds": starts, "microseconds per open": opened, "seconds of git and compiler": worked}
    if not all(len(each) == 2 for each in (starts, opened, worked)):
        return
    print(f"With --ask and nothing asked: starting {starts['asking']:.2f} ms ({starts['asking'] / starts['plain']:.2f} of a run "
          f"without), opening for reading {opened['asking']:.1f} us ({opened['asking'] / opened['plain']:.1f}), git and compiler "
          f"{worked['asking'] * 1000:.0f} ms ({worked['asking'] / worked['plain']:.2f})")


def print_creates(cloche, build, scratch, peers, results):
    project = fresh(scratch, "creates")
    program = shutil.copy(build / "bench" / "bench_creates", project / "bench_creates")
    place = "in a new directory"
    words = [str(program), "made", place, str(CREATES)]
    ways = {"native": words, "cloche": [cloche, "run", *words]}
    if shutil.which("strace"):
        ways["strace"] = [*STRACE, *words]
    ways.update({name: [*prefix, *words] for name, prefix in peers.items()})

    def measure(name, command, number):
        directory = f"{name}-{number}"  # what was made before stays: see fresh()
        return float(run([directory if word == place else word for word in command], project)[0].split()[-1])

    medians = in_turn(ways, CREATE_PAIRS, measure)
    results["microseconds per create"] = medians
    told = ", ".join(f"{name} {value:.1f} us ({value / medians['native']:.2f})" for name, value in medians.items())
    print(f"{CREATES:,} new files, each: {told}")


def print_connects(cloche, build, scratch, results):
    project = fresh(scratch, "connects")
    program = shutil.copy(build / "bench" / "bench_connects", project / "bench_connects")
    words = [str(program), "socket"]
    ways = {"outside": words, "inside": [cloche, "run", *words]}
    medians = in_turn(ways, CONNECT_PAIRS, lambda _, command, __: float(run(command, project)[0]))
    results["microseconds per unix connect"] = medians
    if len(medians) == 2:
        print(f"Connecting to a unix socket of one's own: {medians['outside']:.1f} us outside, {medians['inside']:.1f} us "
              f"inside ({medians['inside'] / medians['outside']:.2f})")


def fill_npm_cache(place):
    """A home with a cache that holds all packages, and a project that locks them; made once."""
    home, project = place / "home", place / "home" / "project"
    wanted = json.dumps({"name": "bench", "version": "1.0.0", "private": True, "dependencies": NPM_PACKAGES}, indent=2)
    mark = place / "filled"
    if mark.is_file() and mark.read_text(encoding="utf-8") == wanted:
        return home, project
    if shutil.which("npm") is None:
        sys.exit("bench/run: --peers needs npm (Debian and Ubuntu: apt-get install npm)")
    print(f"filling an npm cache in {place}: {' '.join(NPM_PACKAGES)}", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    project.mkdir(parents=True)
    (project / "package.json").write_text(wanted, encoding="utf-8")
    run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], project, {"HOME": str(home)})
    shutil.rmtree(project / "node_modules")
    mark.write_text(wanted, encoding="utf-8")
    return home, project


def print_npm(cloche, build, judge, results):
    """From a filled cache alone: no network inside or outside."""
    home, project = fill_npm_cache(build / "npm-bench")
    locked = json.loads((project / "package-lock.json").read_text(encoding="utf-8"))
    count = sum(1 for name in locked["packages"] if name)
    words = ["npm", "ci", "--offline", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    ways = {"outside": words, "inside": [cloche, "run", *words]}

    def measure(_, command, __):
        shutil.rmtree(project / "node_modules", ignore_errors=True)
        return run(command, project, {"HOME": str(home)})[1]

    in_turn({"warm": words}, 1, measure)
    medians = in_turn(ways, NPM_PAIRS, measure)
    if len(medians) == 2 and count >= NPM_PACKAGES_MIN:
        ratio = medians["inside"] / medians["outside"]
        print(f"npm ci of {count} packages from a filled cache: {medians['outside']:.2f} s outside, "
              f"{medians['inside']:.2f} s inside: {ratio:.3f}  {judge('npm ci', ratio, results)}")


def srt_prefix(peers, scratch):
    """srt with leave to write in the current directory, and how to call it; nothing where it is not installed."""
    srt = peers / "node_modules" / ".bin" / "srt"
    settings = scratch / "srt-settings.json"
    return {"srt": [str(srt), "--settings", str(settings)]} if srt.exists() and settings.is_file() else {}

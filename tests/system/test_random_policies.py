"""Random policies on random trees, in the real jail, against decide().

tests/property compares the plan with decide() on a model; a model can be wrong
the same way twice. Here some of the same cases are made on disk and run, and a
probe inside opens, lists, writes and creates. Its answers are decide()'s.

With Landlock alone more may be refused than decide() says (what lies beside
something hidden and is made later, say), but never less.
"""

import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CLOCHE", TOP / "build" / "cloche")).parent
USERS = {"root": 0, "ordinary user": 54321} if os.geteuid() == 0 else {"ordinary user": os.geteuid()}
RUNS = int(os.environ.get("RANDOM_RUNS") or 2000)  # in namespaces, by all users together
RUNS_OF_USER = RUNS // len(USERS)
RUNS_WITH_LANDLOCK = max(1, RUNS_OF_USER // 4)
FIRST_SEED = 500000
JOBS = os.cpu_count() or 1


def identity(uid):
    return {} if uid == os.geteuid() else {"user": uid, "group": uid, "extra_groups": []}


def make_tree(case, prefix, uid):
    for node in case["tree"]:
        path = node["path"]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if node["kind"] == "directory":
            os.makedirs(path, exist_ok=True)
        elif node["kind"] == "file":
            pathlib.Path(path).write_text("the host's\n", encoding="utf-8")
        else:
            os.symlink(node["target"], path)
    shutil.copy(BUILD / "tests" / "property" / "probe", case["tools"])
    for directory, names, files in os.walk(prefix):
        for name in [".", *names, *files]:
            os.lchown(os.path.join(directory, name), uid, uid)


def fingerprint(prefix):
    """What the tree is made of, content and all."""
    found = []
    for directory, names, files in sorted(os.walk(prefix)):
        for name in sorted(names + files):
            path = os.path.join(directory, name)
            link = os.readlink(path) if os.path.islink(path) else None
            content = pathlib.Path(path).read_bytes() if not link and os.path.isfile(path) else None
            found.append((path, os.lstat(path).st_mode, link, content))
    return found


def requests_of(case):
    """Pairs of a request to the probe and what must come of it: True, False or a size."""
    for probe in case["probes"]:
        path = probe["path"]
        if "read" in probe:
            yield ("R" if probe["node"] == "file" else "L") + path, probe["read"], probe
        # A file that tells git where to look is not rewritten: only the doorman knows that it is one.
        is_pointer = probe["node"] == "file" and os.path.basename(os.path.realpath(path)).lower() == ".git"
        if "write" in probe and not (is_pointer and probe["write"]):
            yield ("W" if probe["node"] == "file" else "C") + path, probe["write"], probe


# What says nothing about files, and decides for what else there is a doorman, which then holds them.
WATCHES = ({}, {"watch": "off"}, {"watch": "all"}, {"enableDetection": False})
SOCKETS = ({}, {"seccomp": {"blockUnixSockets": True}}, {"network": {"allowAllUnixSockets": True}})


def surroundings(seed):
    """The log stands in the home, which is part of the tree: there is none."""
    watch = WATCHES[seed % len(WATCHES)]
    return {"extends": [], "violation": {"logViolations": False, **watch}, **SOCKETS[seed // len(WATCHES) % len(SOCKETS)]}


def run_case(cloche, case, policy, uid, options):
    wanted = list(requests_of(case))
    command = [cloche, "run", "-q", *options, "--allow-degraded", "late-names", "-C", case["project"], "-s", policy,
               "-s", json.dumps(surroundings(case["seed"])), "--", os.path.join(case["tools"], "probe")]
    done = subprocess.run(command, input=b"".join(request.encode() + b"\0" for request, _, _ in wanted),
                          capture_output=True, timeout=60, check=False, cwd="/", **identity(uid),
                          env={"HOME": case["home"], "PATH": "/usr/bin:/bin"})
    return wanted, done


def disagreements(wanted, answers):
    for (request, expected, probe), answer in zip(wanted, answers):
        worked = answer.startswith("ok ")
        if worked != expected:
            yield f"{request!r}: decide() says {expected}, the kernel says {answer}"
        elif worked and request[0] == "R" and probe["empty"] != (answer == "ok 0"):
            yield f"{request!r}: decided empty={probe['empty']}, read {answer}"


def let_through(wanted, answers):
    for (request, expected, probe), answer in zip(wanted, answers):
        if answer.startswith("ok ") and (not expected or (request[0] == "R" and probe["empty"] and answer != "ok 0")):
            yield f"{request!r}: decide() says {expected}, the kernel says {answer}"


def run_case_on(prefix, cloche, case, uid, wrong_answers, options):
    """The answers of one case that was compared, or None if it was refused."""
    make_tree(case, prefix, uid)
    before = fingerprint(prefix)
    policy = prefix.parent / "policy.json"
    policy.write_text(case["policy"], encoding="utf-8")
    wanted, done = run_case(cloche, case, policy, uid, options)
    answers = done.stdout.decode().splitlines()
    assert fingerprint(prefix) == before, f"seed {case['seed']}: the tree was left changed"
    shutil.rmtree(prefix)
    if done.returncode in (125, 126, 127) and not answers:
        # The working directory or the probe itself is hidden by the policy.
        assert b"cloche: " in done.stderr, done.stderr
        return None
    assert done.returncode == 0, (case["seed"], done.stderr)
    assert len(answers) == len(wanted), (case["seed"], done.stderr)
    wrong = list(wrong_answers(wanted, answers))
    assert not wrong, f"seed {case['seed']}\n{case['policy']}\n{json.dumps(case['tree'])}\n" + "\n".join(wrong)
    return answers


def cases_for(runs):
    """So many of them are always enough for so many that are not refused."""
    return 2 * runs + 20


def run_share(cloche, uid, wrong_answers, options, runs, first_seed):
    """Cases from `first_seed` on until so many were run and compared: how many of how many answers were yes."""
    # Not below /tmp: a run has a /tmp of its own.
    parent = "/var/lib" if os.geteuid() == 0 else pathlib.Path.home()
    base = pathlib.Path(tempfile.mkdtemp(prefix="cloche-random-", dir=parent))
    base.chmod(0o755)
    os.chown(base, uid, uid)  # links of the tree lead here too
    prefix = base / "w"
    compared = worked = 0
    cases = cases_for(runs)
    try:
        emitted = subprocess.run([BUILD / "tests" / "property" / "property", "emit", str(cases), str(first_seed),
                                  prefix], capture_output=True, text=True, check=True).stdout.splitlines()
        assert len(emitted) == cases
        while runs > 0:
            # Most cases must be run, or this proves nothing.
            assert emitted, "too many cases were refused"
            answers = run_case_on(prefix, cloche, json.loads(emitted.pop(0)), uid, wrong_answers, options)
            if answers is not None:
                runs -= 1
                compared += len(answers)
                worked += sum(answer.startswith("ok ") for answer in answers)
    finally:
        shutil.rmtree(base)
    return compared, worked


def run_cases(cloche, user, wrong_answers, runs, *options):
    """As run_share, on all cores. No two users and no two cores have a case in common."""
    share = -(-runs // JOBS)
    first = FIRST_SEED + list(USERS).index(user) * JOBS * cases_for(RUNS)
    shares = [(cloche, USERS[user], wrong_answers, options, share, first + cases_for(share) * job) for job in range(JOBS)]
    with multiprocessing.get_context("fork").Pool(JOBS) as pool:
        counts = pool.starmap(run_share, shares)
    return (sum(column) for column in zip(*counts))


@pytest.mark.parametrize("user", USERS)
def test_real_runs_agree_with_decide(user, binaries):
    compared, worked = run_cases(binaries / "cloche", user, disagreements, RUNS_OF_USER)
    assert compared > RUNS_OF_USER * 20 and compared / 5 < worked < compared, (compared, worked)


@pytest.mark.parametrize("user", USERS)
def test_landlock_alone_never_allows_what_decide_denies(user, binaries):
    compared, worked = run_cases(binaries / "cloche", user, let_through, RUNS_WITH_LANDLOCK, "--backend", "landlock")
    assert compared > RUNS_WITH_LANDLOCK * 20 and compared / 5 < worked < compared, (compared, worked)

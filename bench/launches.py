"""How long launches take, interleaved; and, where the bench is run by root, as an ordinary user would have them: in a home
with what homes have."""

import json
import os
import pathlib
import random
import shutil
import statistics
import tempfile
import time

USER = 61236
WARM_UP = 5
AT_REST = 3  # seconds: what changed a moment ago is looked up name by name
HOME = {".bashrc": "", ".profile": "", ".bash_history": "ls\n", ".gitconfig": "", ".ssh/id_ed25519": "key\n",
        ".ssh/known_hosts": "", ".gnupg/trustdb.gpg": "", ".aws/credentials": "key\n", ".npmrc": "token\n",
        ".npm/_cacache/index": "", ".cache/pip/index": "", ".config/gh/hosts.yml": "token\n", ".config/nvim/init.vim": "",
        ".local/share/keyrings/login.keyring": "", ".docker/config.json": "{}", "project/.git/config": "",
        "project/.git/hooks/pre-commit.sample": "", "project/.env": "TOKEN=1\n", "project/src/main.c": ""}
SILENCE = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)]


def launch(words, environment):
    start = time.perf_counter_ns()
    pid = os.posix_spawn(words[0], words, environment, file_actions=SILENCE)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter_ns() - start) / 1e6
    if status != 0:
        raise OSError(f"{' '.join(words[:2])}: status {os.waitstatus_to_exitcode(status)}")
    return took


def interleave(ways, rounds, environment):
    """The median milliseconds of each way, in a new random order each round."""
    times = {name: [] for name in ways}
    for number in range(WARM_UP + rounds):
        for name in random.sample(list(ways), len(ways)):
            took = launch(ways[name], environment)
            if number >= WARM_UP:
                times[name].append(took)
    return {name: statistics.median(values) for name, values in times.items()}


def fill(home):
    for name, content in HOME.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content, encoding="utf-8")
    for path in [home, *home.rglob("*")]:
        os.chown(path, USER, USER)


def child(ways, home, rounds, answer):
    """What the user does; ends the process."""
    try:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        os.chdir(home / "project")
        environment = {**os.environ, "HOME": str(home), "USER": "somebody", "LOGNAME": "somebody"}
        text = json.dumps(interleave(ways, rounds, environment))
    except OSError as problem:
        text = json.dumps(str(problem))
    os.write(answer, text.encode())
    os._exit(0)


def measure(cloche, ways_with, rounds):
    """Medians of what `ways_with(cloche)` names, by the copy of cloche that the user can execute; a text says why not."""
    parent = "/home" if os.access("/home", os.W_OK) else "/var/tmp"
    home = pathlib.Path(tempfile.mkdtemp(prefix="cloche-bench-", dir=parent))
    try:
        home.chmod(0o755)
        own = shutil.copy(cloche, home / "cloche")
        ways = ways_with(str(own))
        fill(home)
        time.sleep(AT_REST)
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            child(ways, home, rounds, writing)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as answer:
            found = json.load(answer)
        os.waitpid(process, 0)
        return found
    finally:
        shutil.rmtree(home, ignore_errors=True)


def print_by_an_ordinary_user(cloche, ways_with, rounds, judge):
    """How much "cloche" adds to "plain", of what "bwrap" adds, and what `judge` says of that; or why it is not known. Root's
    home and files are its own: others have less to hide, and a policy of their own."""
    found = measure(cloche, ways_with, rounds)
    if isinstance(found, str):
        print(f"By an ordinary user not measured: {found}")
        return
    share = (found["cloche"] - found["plain"]) / (found["bwrap"] - found["plain"])
    print(f"By an ordinary user, it adds {share:.2f} of what bwrap adds: {judge(share)}")

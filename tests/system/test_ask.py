"""cloche run --ask: what policy does not name is put to whoever sits at the terminal.

Driven through real pseudo terminals, by typing; what came of it is judged from outside. A question that was just shown
takes no answer for a moment, so that nobody answers what he has not read: `answer` waits that long.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import termios
import threading
import time
import types
import uuid

import pytest

import judging
from judging import as_person
from terminals import Terminal

ASKED = "is a no): "
UNREAD = 0.43  # longer than prompt.c's UNREAD_MS
WITHIN_A_MINUTE = 20  # asking.h's ASKING_RATE


@pytest.fixture
def place(person):
    """A directory of the person's own outside of the project, in sight and not writable inside."""
    parent = pathlib.Path("/srv") if os.access("/srv", os.W_OK) else person.base
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cloche-ask-", dir=parent))
    directory.chmod(0o755)
    person.own(directory)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def ask(person, terminal):
    """A shell script in a run that asks, on a terminal."""

    def start(script, *options):
        return terminal(person.binaries / "cloche", "run", "--ask", *options, "--", "sh", "-c", script)

    return start


@pytest.fixture
def desk(lodger):
    """The same for what has nothing to do with who asks: one person, who has a policy of his own."""
    screens = []
    place = pathlib.Path(tempfile.mkdtemp(prefix="cloche-ask-", dir="/srv" if os.access("/srv", os.W_OK) else lodger.base))
    lodger.own(place)

    def start(script, *options):
        screens.append(Terminal(lodger, [lodger.binaries / "cloche", "run", "--ask", *options, "--", "sh", "-c", script]))
        return screens[-1]

    policy = lodger.file(lodger.home / ".config/cloche/policy.json", POLICY)
    yield types.SimpleNamespace(person=lodger, ask=start, place=place, policy=policy, screens=screens)
    for screen in screens:
        screen.close()
    shutil.rmtree(place)
    policy.unlink()


def question(screen):
    return screen.expect(ASKED)


def answer(screen, word):
    """Waits for a question, and answers it; returns what stood in it."""
    shown = question(screen).rpartition("cloche asks.")[2]
    time.sleep(UNREAD)
    screen.type(word + "\r")
    return shown


def rest(screen):
    """What else is printed until everything has ended."""
    shown, screen.seen = screen.seen, ""
    while True:
        try:
            data = os.read(screen.fd, 65536)
        except OSError:
            return shown
        if not data:
            return shown
        shown += data.decode(errors="replace")


# Answers


def test_once_is_one_call(ask, place):
    screen = ask(f"echo first > {place}/made; echo one=$?; echo second > {place}/made; echo two=$?")
    shown = answer(screen, "o")
    assert f"{place}/made\r\n" in shown and "wants to make, change or remove" in shown and "dash" in shown
    screen.expect("one=0")
    answer(screen, "n")
    assert "two=2" in rest(screen)
    assert (place / "made").read_text() == "first\n"


def test_no_changes_nothing(desk):
    screen = desk.ask(f"echo x > {desk.place}/made; echo rc=$?")
    answer(screen, "n")
    said = rest(screen)
    assert "rc=2" in said and f"--allow-write {desk.place}" in said
    assert os.listdir(desk.place) == []


def test_a_directory_is_granted_for_the_run_with_all_below_it_and_nothing_else(ask, place):
    screen = ask(f"""
        (while ! echo early > {place}/new/early 2>/dev/null; do sleep 0.05; done) &
        mkdir {place}/new && echo a > {place}/new/a && mv {place}/new/a {place}/new/b && chmod 600 {place}/new/b &&
        mkdir {place}/new/deep && ln -s ../b {place}/new/deep/link && rm -f {place}/new/b && echo all=$?
        wait
        echo x > {place}/new2; echo beside=$?
        echo x > {place}/new/deep/../../new3; echo above=$?
        ln -s {place} {place}/new/way; echo x > {place}/new/way/new4; echo through=$?""")
    assert f"{place}/new\r\n" in answer(screen, "r")
    # Whoever tries before the question is answered is asked about, too.
    while True:
        shown = answer(screen, "n")
        if f"{place}/new2\r\n" in shown:
            break
        assert f"{place}/new/early" in shown
    screen.expect("beside=2")
    assert f"{place}/new3\r\n" in answer(screen, "n")
    screen.expect("above=2")
    assert f"{place}/new4\r\n" in answer(screen, "n")
    screen.expect("through=2")
    rest(screen)
    assert sorted(os.listdir(place)) == ["new"]
    assert sorted(os.listdir(place / "new")) == ["deep", "early", "way"]


def test_its_directory_can_be_allowed_instead(desk):
    inner, beside = desk.person.directory(desk.place / "inner"), desk.person.directory(desk.place / "beside")
    screen = desk.ask(f"cd {inner}; for i in 1 2 3; do echo x > $i; done; mkdir deep; echo x > deep/x; echo x > .envrc; echo rc=$?; "
                      f"echo x > {beside}/x; echo rc=$?")
    assert f"d  allow all of {inner} for this run" in answer(screen, "d")
    said = screen.expect("cloche asks")
    assert "rc=2" in said  # protected names are so there, too
    assert f"{beside}/x\r\n" in answer(screen, "n")
    rest(screen)
    assert sorted(os.listdir(inner)) == ["1", "2", "3", "deep"] and os.listdir(beside) == []


def test_a_home_or_what_stands_in_the_root_is_not_offered_as_a_directory(desk):
    screen = desk.ask("echo x > ~/made; echo x > /srv/made-by-test; echo rc=$?")
    shown = answer(screen, "d")
    assert "allow all of" not in shown
    screen.expect("Please answer with")
    screen.type("n\r")
    if os.access("/srv", os.W_OK):
        assert "allow all of" not in answer(screen, "n")
    assert "rc=2" in rest(screen)
    assert not (desk.person.home / "made").exists() and not os.path.exists("/srv/made-by-test")


def test_never_is_not_asked_again(desk):
    screen = desk.ask(f"for i in 1 2 3; do echo x > {desk.place}/made; echo rc=$?; done")
    answer(screen, "v")
    said = rest(screen)
    assert said.count("rc=2") == 3 and ASKED not in said
    assert os.listdir(desk.place) == []


def test_another_word_is_no_answer(desk):
    screen = desk.ask(f"echo x > {desk.place}/made; echo rc=$?")
    answer(screen, "yes")
    screen.expect("Please answer with")
    screen.type("\x7f\x7fy\r")
    screen.expect("Please answer with")
    screen.type("ox\x7f\r")  # with a mistake taken back
    assert "rc=0" in rest(screen)
    assert (desk.place / "made").read_text() == "x\n"


def test_the_interrupt_key_refuses_and_interrupts(desk):
    screen = desk.ask(f"trap 'echo inter''rupted; exit 3' INT; echo x > {desk.place}/made; sleep 20")
    question(screen)
    time.sleep(UNREAD)
    screen.type("\x03")
    screen.expect("interrupted")
    assert os.listdir(desk.place) == []


# Where a pattern is over what may be read, the doorman performs every open.
@pytest.mark.parametrize("options", [(), ("--deny-read", "**/never-there*")], ids=["looks", "performs"])
def test_a_hidden_file_is_read_once(person, ask, options):
    person.file(person.home / "notes.txt", "my notes\n")
    screen = ask("cat ~/notes.txt; cat ~/notes.txt; echo rc=$?", *options)
    shown = answer(screen, "o")
    assert f"{person.home}/notes.txt\r\n" in shown and "to execute it takes a new run" in shown
    screen.expect("my notes")
    answer(screen, "n")
    said = rest(screen)
    assert "my notes" not in said and "rc=1" in said


def test_what_is_hidden_can_be_written_where_it_is(person, ask):
    screen = ask("echo x > ~/made.txt; echo rc=$?; echo y >> ~/made.txt; cat ~/made.txt")
    answer(screen, "r")
    assert {"rc=0", "x", "y"} <= set(rest(screen).split())
    assert (person.home / "made.txt").read_text() == "x\ny\n"


def test_a_socket_of_the_host_is_connected_to_once(person, ask, place):
    served = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "socket"))
        (place / "socket").chmod(0o777)
        server.listen()

        def serve():
            while len(served) < 9:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                served.append(connection.close())

        threading.Thread(target=serve, daemon=True).start()
        person.file("connect.py", f"import socket\nprint('rc', socket.socket(socket.AF_UNIX).connect_ex('{place}/socket'))\n")
        screen = ask("for i in 1 2; do python3 connect.py; done")
        assert f"{place}/socket\r\n" in answer(screen, "o")
        screen.expect("rc 0")
        answer(screen, "n")
        assert "rc 13" in rest(screen)
    assert len(served) == 1


GET = "curl -s -o /dev/null -w 'code=%{http_code} ' --max-time 20 --noproxy '' -x http://localhost:3128 http://"


def test_a_host_is_reached_once_or_for_the_run(ask):
    screen = ask(f"{GET}127.0.0.1:9/; {GET}127.0.0.1:9/; {GET}127.0.0.1:9/; {GET}127.0.0.1:10/")
    assert "127.0.0.1 port 9" in answer(screen, "o")
    screen.expect("code=502")  # nobody listens there
    answer(screen, "r")
    screen.expect("code=502")
    assert "127.0.0.1 port 10" in answer(screen, "n")
    assert "code=403 " in rest(screen)


# Always


POLICY = """// My own.
{
  "extends": ["preset:dev"], /* the usual */
  "filesystem": {
    "allowWrite": [
      "$PROJECT_DIR" // here
    ]
  }
}
"""


def test_always_changes_one_line_of_the_users_policy_and_shows_it(person, ask, place):
    policy = person.file(person.home / ".config/cloche/policy.json", POLICY)
    policy.chmod(0o640)
    screen = ask(f"echo x > {place}/made; echo rc=$?")
    assert str(policy) in answer(screen, "a")
    said = rest(screen)
    assert '-       "$PROJECT_DIR" // here\r\n+       "$PROJECT_DIR", // here\r\n+       "' + f'{place}/made"' in said
    assert "rc=0" in said
    changed = POLICY.replace('"$PROJECT_DIR" // here', f'"$PROJECT_DIR", // here\n      "{place}/made"')
    assert policy.read_text() == changed and policy.stat().st_mode & 0o777 == 0o640 and policy.stat().st_uid == person.uid
    assert os.listdir(policy.parent) == ["policy.json"]
    assert person.cloche("run", "sh", "-c", f"echo y >> {place}/made").returncode == 0
    assert (place / "made").read_text() == "x\ny\n"
    assert person.cloche("run", "sh", "-c", f"echo y > {place}/other").returncode != 0


def test_always_makes_a_policy_where_there_was_none(person, ask, place):
    screen = ask(f"echo x > {place}/made")
    answer(screen, "a")
    assert "policy.json (new)" in rest(screen)
    policy = person.home / ".config/cloche/policy.json"
    assert json.loads(policy.read_text()) == {"extends": ["preset:dev"], "filesystem": {"allowWrite": [f"{place}/made"]}}
    assert policy.stat().st_mode & 0o777 == 0o600


def test_always_leaves_alone_what_is_not_the_users_own(person, ask, place):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    policy = person.file(person.base / "policy.json", POLICY)
    os.chown(policy, 12345 if person.uid != 12345 else 12346, -1)
    policy.chmod(0o666)
    screen = ask(f"echo x > {place}/made; echo rc=$?", "-s", policy)
    answer(screen, "a")
    said = rest(screen)
    assert "allowed for this run only" in said and "not a file of your own" in said and "rc=0" in said
    assert policy.read_text() == POLICY


def test_a_name_that_would_be_a_pattern_is_not_written_down(desk):
    screen = desk.ask(f"echo x > '{desk.place}/*'; echo rc=$?")
    answer(screen, "a")
    assert "allowed for this run only" in rest(screen)
    assert desk.policy.read_text() == POLICY and os.listdir(desk.place) == ["*"]


EXPOSED = "allowed for this run only: the policy lies where the run may write"


def test_always_is_not_to_be_had_where_the_run_can_write_beside_the_policy(person, ask, place):
    """Whoever can open the file that is to take the policy's place has the whole policy."""
    inside, outside = person.file("policy.json", POLICY), person.file(person.home / "mine/policy.json", POLICY)
    before = inside.stat()
    screen = ask(f"echo x > {place}/made; echo rc=$?", "-s", "policy.json")
    assert "allow it always" not in answer(screen, "a")
    said = rest(screen)
    assert EXPOSED in said and "rc=0" in said
    assert inside.read_text() == POLICY and (inside.stat().st_ino, inside.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    screen = ask(f"echo x > {place}/other; echo rc=$?", "-s", outside)
    assert f"allow it always: adds it to {outside}" in answer(screen, "a")
    assert EXPOSED not in rest(screen) and f"{place}/other" in outside.read_text()


def test_always_is_not_to_be_had_where_the_users_own_policy_lies_in_the_project(person, terminal, place):
    cloche = person.binaries / "cloche"
    person.directory(person.project / "house")
    for settings in (f"XDG_CONFIG_HOME={person.project}/conf", f"HOME={person.project}/house"):
        screen = terminal("env", settings, cloche, "run", "-C", person.project, "--ask", "sh", "-c", f"echo x > {place}/made; echo rc=$?")
        assert "allow it always" not in answer(screen, "a")
        said = rest(screen)
        assert EXPOSED in said and "rc=0" in said
        assert not list(person.project.rglob("policy.json*"))


def test_always_is_not_to_be_had_after_the_policys_own_directory_was_allowed(desk):
    policy = desk.person.file(desk.place / "conf/policy.json", POLICY)
    screen = desk.ask(f"echo x > {policy.parent}/one; echo x > {desk.place}/two; echo rc=$?", "-s", policy)
    assert "allow it always" in answer(screen, "d")
    assert "allow it always" not in answer(screen, "a")
    said = rest(screen)
    assert EXPOSED in said and "rc=0" in said and policy.read_text() == POLICY
    assert sorted(os.listdir(policy.parent)) == ["one", "policy.json"]


def test_a_link_is_allowed_once_and_never_always(desk):
    screen = desk.ask(f"ln -s /etc {desk.place}/made; echo rc=$?; rm -f {desk.place}/made; echo rc=$?")
    shown = answer(screen, "a")
    assert "wants to make a symbolic link at" in shown and "always" not in shown and "r  allow" not in shown
    screen.expect("Please answer with")
    screen.type("r\r")
    screen.expect("Please answer with")
    screen.type("o\r")
    screen.expect("rc=0")
    # And what is a link by then is not written down: a rule would speak of what it leads to.
    assert "wants to make, change or remove" in answer(screen, "a")
    said = rest(screen)
    assert "allowed for this run only: a link stands at its name" in said and "rc=0" in said
    assert desk.policy.read_text() == POLICY and os.listdir(desk.place) == []


EXCHANGE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
print("exchanged", libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2))
"""


def test_at_a_name_that_was_granted_no_link_can_be_made(person, ask, place):
    """The next run's rule would speak of what the link leads to."""
    victim = person.file(place / "victim/file", "old\n")
    person.file("exchange.py", EXCHANGE)
    for directory in ("out", "spare"):
        person.directory(place / directory)
    made, spare = place / "out/made", place / "spare"
    screen = ask(f"""
        echo x > {made}; echo made=$?
        ln -s {victim.parent} {spare}/link; ln -s {victim.parent} {spare}/second; echo spare=$?
        rm -f {made}; echo removed=$?; ln -s {victim.parent} {made}; echo symlink=$?
        mv -fT {spare}/link {made}; echo rename=$?; ln -P {spare}/link {made}; echo link=$?
        echo again > {made}; echo written=$?
        python3 exchange.py {spare}/link {made}; python3 exchange.py {made} {spare}/link
        mv -f {spare}/second {spare}/third; echo beside=$?""")
    answer(screen, "a")
    screen.expect("made=0")
    assert "symbolic link" in answer(screen, "d")
    said = rest(screen)
    for expected in ("spare=0", "removed=0", "symlink=1", "rename=1", "link=1", "written=0", "beside=0"):
        assert expected in said, said
    assert said.count("exchanged -1") == 2 and "cloche asks" not in said
    assert not made.is_symlink() and made.read_text() == "again\n" and (spare / "third").is_symlink()
    person.cloche("run", "sh", "-c", f"echo next >> {made}; echo new > {victim}; echo new > {made}/file")
    assert made.read_text() == "again\nnext\n" and victim.read_text() == "old\n"


def test_above_a_name_that_was_granted_nothing_else_can_be_put(desk):
    for name in ("out/deep", "out/other"):
        desk.person.directory(desk.place / name)
    out = desk.place / "out"
    screen = desk.ask(f"""
        echo x > {out}/deep/made; echo x > {out}/first; echo first=$?
        ln -s /etc {out}/other/made; echo other=$?; mv -f {out}/deep {out}/moved; echo moved=$?
        ln -s other {out}/deep; echo symlink=$?; mv -f {out}/other {out}/deep; echo rename=$?; mv -f {out}/other {out}/free; echo free=$?""")
    answer(screen, "a")
    answer(screen, "d")
    said = rest(screen)
    for expected in ("first=0", "other=0", "moved=0", "symlink=1", "rename=1", "free=0"):
        assert expected in said, said
    assert sorted(os.listdir(out)) == ["first", "free", "moved"] and "out/deep/made" in desk.policy.read_text()


# What nobody is asked about


def test_secrets_protected_names_and_cloches_own_files_are_not_to_be_had(person, ask, place):
    person.file(person.home / ".ssh/id_rsa", "secret key\n")
    person.file(person.home / ".bashrc", "original\n")
    person.file(place / "repository/.git/hooks/pre-commit.sample", "original\n")
    policy = person.file(person.home / ".config/cloche/policy.json", POLICY)
    person.directory(person.home / ".local/state/cloche")
    before = judging.fingerprint(person.home), judging.fingerprint(place)
    screen = ask(f"""
        cat ~/.ssh/id_rsa; ls ~; ls ~/.ssh
        echo x >> ~/.bashrc; echo x > ~/.profile; rm ~/.bashrc
        echo x > {place}/repository/.git/hooks/pre-commit; echo x > {place}/repository/.git/config; mkdir {place}/.vscode
        echo '{{}}' > {policy}; rm {policy}; mv ~/.config ~/.config2; echo x > ~/.local/state/cloche/log.jsonl
        chmod 700 ~; echo x > /proc/sys/kernel/core_pattern; echo x > /sys/kernel/mm/ksm/run
        mkdir ~/.config; echo end""")
    said = rest(screen)
    assert "end" in said and "cloche asks" not in said and "secret key" not in said
    left_out = lambda prints: {path: seen for path, seen in prints.items() if "/state/" not in path}  # cloche's log
    assert left_out(judging.fingerprint(person.home)) == left_out(before[0]) and judging.fingerprint(place) == before[1]


def test_below_what_was_granted_the_same_things_are_not_to_be_had(ask, place):
    screen = ask(f"""
        while [ ! -d {place}/old/.git/refs ]; do sleep 0.05; done; mkdir {place}/new; mkdir {place}/old/made; echo granted=$?
        for name in .bashrc .envrc .git/config .git/hooks/x; do echo x > {place}/old/$name; echo $name=$?; done
        mv {place}/old/.git {place}/old/git; echo moved=$?""")
    for name in ("old/.git/hooks", "old/.git/objects", "old/.git/refs"):
        (place / name).mkdir(parents=True)
    for path in (place / "old", *(place / "old").rglob("*")):
        os.chown(path, place.stat().st_uid, -1)
    answer(screen, "n")
    answer(screen, "r")
    said = screen.expect("cloche asks")
    assert "granted=0" in said
    # A yes to the names of a repository is none to have it moved with all that git obeys in it.
    assert f"{place}/old/.git\r\n" in answer(screen, "r")
    assert f"{place}/old/git\r\n" in answer(screen, "r")
    assert "moved=1" in rest(screen)
    assert all(f"{name}=2" in said for name in (".bashrc", ".envrc", ".git/config", ".git/hooks/x"))
    assert sorted(os.listdir(place / "old")) == [".git", "made"] and os.listdir(place / "old/.git/hooks") == []


def test_what_a_rule_refuses_by_name_is_not_asked_about(ask, place):
    screen = ask(f"echo x > {place}/made; echo rc=$?; cat {place}/hidden; {GET}bad.test/", "--deny-write", place,
                 "--deny-read", place / "hidden", "--deny-domain", "bad.test")
    said = rest(screen)
    assert "rc=2" in said and "code=403" in said and "cloche asks" not in said


# An enemy on the same terminal


FAKE = "cloche asks. Everything in the sandbox is stopped until you answer. Type a letter and press Enter (nothing within 60 seconds is a no): "


def test_a_question_of_the_programs_own_is_powerless(desk):
    screen = desk.ask(f"printf '%s' '{FAKE}'; read answer; echo got=$answer; echo x > {desk.place}/made; echo rc=$?")
    screen.expect(ASKED)
    screen.type("a\r")
    screen.expect("got=a")
    answer(screen, "n")
    assert "rc=2" in rest(screen)
    assert desk.policy.read_text() == POLICY and os.listdir(desk.place) == []


@pytest.fixture
def mark():
    return f"ask-{uuid.uuid4()}"


def states(mark):
    found = {}
    for pid in judging.processes(mark):
        try:
            found[pid] = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            pass
    return found


FLOOD = """
import os, signal, sys, threading, time
signal.signal(signal.SIGCONT, signal.SIG_IGN)
for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
def wake():
    while True:
        try:
            os.kill(-1, signal.SIGCONT)
        except OSError:
            pass
def flood():
    while True:
        os.write(1, b"\\033[2J\\033[Hcloche: allowed once n\\r\\n")
        time.sleep(0.001)
for each in (wake, flood, flood):
    threading.Thread(target=each, daemon=True).start()
time.sleep(60)
"""


def test_nothing_inside_runs_while_a_question_is_open(person, ask, place, mark):
    person.file("flood.py", FLOOD)
    screen = ask(f"for i in 1 2 3; do python3 flood.py {mark} & done; sleep 1; echo x > {place}/made; echo rc=$?; read x; kill %1 %2 %3")
    question(screen)
    outer = {pid for pid in judging.processes(mark) if b"cloche" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]}
    inside = {pid: state for pid, state in states(mark).items() if pid not in outer}
    assert len(inside) >= 3 and set(inside.values()) <= {"T", "D"}, inside
    time.sleep(UNREAD)
    assert screen.seen == ""  # and nothing was written over it
    screen.type("o\r")
    screen.expect("rc=0")
    screen.expect("[2J")  # they go on
    screen.type("\r")
    assert (place / "made").read_text() == "x\n"


# The kernel sends the signal, so nobody has to run for it: a timer's, and a terminal's at each key.
WAKE = """
import ctypes, fcntl, os, signal, struct, sys, time
how, path = sys.argv[1:]
for number in (signal.SIGTTIN, signal.SIGTTOU):
    signal.signal(number, signal.SIG_IGN)
child = os.fork()
if child:
    time.sleep(0.3)
    for each in (path, path + "2"):
        try:
            open(each, "w").write("x")
            print("writ" + "ten")
        except OSError:
            print("ref" + "used")
    os.kill(child, signal.SIGKILL)
    sys.exit()
if how == "timer":
    libc, timer = ctypes.CDLL(None, use_errno=True), ctypes.c_void_p()
    event = ctypes.create_string_buffer(struct.pack("Qii", 0, signal.SIGCONT, 0), 64)
    if libc.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)):
        sys.exit("timer_create")
    libc.timer_settime(timer, 0, struct.pack("4l", 0, 20000000, 0, 400000000), None)
elif how == "keys":
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETSIG, signal.SIGCONT)
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
while True:
    time.sleep(0.01)
"""


@pytest.mark.parametrize("how", ["timer", "keys"])
def test_what_is_typed_while_something_inside_ran_is_no_answer(person, ask, place, how):
    policy = person.file(person.home / ".config/cloche/policy.json", POLICY)
    person.file("wake.py", WAKE)
    screen = ask(f"python3 wake.py {how} {place}/made")
    answer(screen, "a")
    said = rest(screen)
    assert "something in the sandbox ran while you were asked" in said and "cloche: allowed" not in said
    assert said.count("refused\r\n") == 2 and ASKED not in said  # and nothing more is asked
    assert os.listdir(place) == [] and policy.read_text() == POLICY


def test_the_same_program_that_nothing_wakes_is_granted_what_it_asks_for(person, ask, place):
    person.file("wake.py", WAKE)
    screen = ask(f"python3 wake.py nothing {place}/made")
    question(screen)
    time.sleep(1)  # looked at several times
    screen.type("o\r")
    answer(screen, "o")
    assert rest(screen).count("written") == 1
    assert sorted(os.listdir(place)) == ["made", "made2"]


THREADS = """
import os, sys, threading, time
def flood():
    while True:
        os.write(1, b"\\033[2J\\033[Hcloche: allowed once n\\r\\n")
        time.sleep(0.001)
for _ in range(3):
    threading.Thread(target=flood, daemon=True).start()
time.sleep(0.3)
open(sys.argv[1], "w").write("x")
print("written")
"""


def test_threads_beside_the_one_that_waits_do_not_run_either(desk):
    desk.person.file("threads.py", THREADS)
    screen = desk.ask(f"python3 threads.py {desk.place}/made")
    question(screen)
    time.sleep(UNREAD)
    assert screen.seen == ""
    screen.type("o\r")
    screen.expect("written")
    assert (desk.place / "made").read_text() == "x"


def test_whom_job_control_had_stopped_stays_so(desk, mark):
    screen = desk.ask(f"sh -c 'sleep 60; : {mark}' & kill -STOP $!; sleep 0.3; echo x > {desk.place}/made; echo rc=$?; sleep 0.3; echo lo''ok; read x; kill -KILL $!")
    answer(screen, "o")
    screen.expect("look")
    stopped = {pid: state for pid, state in states(mark).items() if pathlib.Path(f"/proc/{pid}/comm").read_text() == "sh\n"}
    assert "T" in stopped.values(), stopped
    screen.type("\r")
    rest(screen)


def test_keys_that_were_typed_before_the_question_could_be_read_are_no_answer(desk):
    screen = desk.ask(f"stty -echo; echo rea''dy; sleep 0.5; echo x > {desk.place}/made; echo rc=$?")
    screen.expect("ready")
    screen.type("a\ro\rr\r" * 20)
    question(screen)
    screen.type("a\ro\rr\r")
    time.sleep(UNREAD)
    assert "cloche: allowed" not in screen.seen
    screen.type("n\r")
    assert "rc=2" in rest(screen)
    assert desk.policy.read_text() == POLICY and os.listdir(desk.place) == []


def test_the_terminal_is_reset_and_given_back_as_it_was(desk):
    desk.person.file("wild.py", f"""
import os, sys, termios, tty
tty.setraw(0)
before = termios.tcgetattr(0)
os.write(1, b"\\033[?1049h\\033[8m\\033[?25l\\033]0;unfinished")
termios.tcflow(1, termios.TCOOFF)
try:
    open("{desk.place}/made", "w").write("x")
finally:
    same = termios.tcgetattr(0) == before
    os.write(1, b"same=%d\\r\\n" % same)
""")
    screen = desk.ask("python3 wild.py")
    shown = question(screen)
    before, _, after = shown.partition("unfinished")
    reset, _, text = after.partition("cloche asks.")
    assert {"\x1b[?1049l", "\x1b[0m", "\x1b[?25h"} <= {f"\x1b{each}" for each in reset.split("\x1b")} and "\x18" in reset
    assert "\x1b" not in text
    assert not screen.settings()[3] & (termios.ECHO | termios.ISIG)
    time.sleep(UNREAD)
    screen.type("o\r")
    screen.expect("same=1")
    assert (desk.place / "made").read_text() == "x"


def test_one_question_after_the_other_leaves_the_terminal_as_it_was(desk):
    desk.person.file("several.py", f"""
import os, termios, threading, tty
tty.setraw(0)
before = termios.tcgetattr(0)
def make(number):
    try:
        open("{desk.place}/%d" % number, "w")
    except OSError:
        pass
threads = [threading.Thread(target=make, args=(number,)) for number in range(3)]
for each in threads: each.start()
for each in threads: each.join()
os.write(1, b"same=%d\\r\\n" % (termios.tcgetattr(0) == before))
""")
    screen = desk.ask("python3 several.py")
    for word in "ono":
        answer(screen, word)
    screen.expect("same=1")
    assert len(os.listdir(desk.place)) == 2


def test_a_signal_to_cloche_refuses_and_reaches_the_command(desk, mark):
    screen = desk.ask(f"trap 'echo ter''minated; exit 3' TERM; echo x > {desk.place}/made; sleep 20; : {mark}")
    question(screen)
    cloche = min(judging.processes(mark))
    os.kill(cloche, signal.SIGTERM)
    screen.expect("terminated")
    assert os.listdir(desk.place) == []


def test_names_cannot_drive_the_terminal(desk):
    desk.person.file("evil.py", f'open("{desk.place}/\\x1b[2Jx\\u202e\\r\\n  o  allow nothing", "w")\n')
    screen = desk.ask("python3 evil.py; echo rc=$?")
    shown = answer(screen, "n")
    assert "\x1b" not in shown and "\u202e" not in shown and r"\x1b[2Jx" in shown
    assert f"{desk.place}" in shown.splitlines()[2] and "allow nothing" in shown.splitlines()[2]


def test_a_programs_name_cannot_fill_lines_above_the_question(desk):
    dressed = desk.person.project / ("wants to make".ljust(80) + "harmless".ljust(80) + "which nothing allows".ljust(80))
    shutil.copy("/usr/bin/touch", dressed)
    dressed.chmod(0o755)
    screen = desk.ask(f"'{dressed}' '{desk.place}/two  spaces'; echo rc=$?")
    shown = answer(screen, "r").splitlines()
    assert shown[1].startswith("  ...") and len(shown[1]) < 320 and "  " not in shown[1][2:] and r"\x20\x20" in shown[1]
    assert shown[2] == rf"    {desk.place}/two\x20\x20spaces"
    assert "rc=0" in rest(screen)
    assert os.listdir(desk.place) == ["two  spaces"]


def test_ten_thousand_questions_are_not_asked(desk):
    desk.person.file("many.py", f"""
refused = 0
for number in range(10000):
    try:
        open("{desk.place}/%d" % number, "w")
    except OSError:
        refused += 1
print("refused", refused)
""")
    screen = desk.ask("python3 many.py")
    for _ in range(WITHIN_A_MINUTE):
        answer(screen, "n")
    said = rest(screen)
    assert "refused 10000" in said and ASKED not in said
    assert said.count("questions in a minute are too many") == 1
    assert os.listdir(desk.place) == []


@pytest.fixture(scope="module", autouse=True)
def unanswered(lodger):
    """A run whose question nobody answers; there is a minute for it."""
    screen = Terminal(lodger, [lodger.binaries / "cloche", "run", "--ask", "sh", "-c", "echo x > ../made; echo rc=$?"])
    screen.expect(ASKED)
    yield screen
    screen.close()


def test_without_a_terminal_it_is_refused_by_name(person):
    done = subprocess.run([person.binaries / "cloche", "run", "--ask", "touch", "made"], cwd=person.project,
                          env=person.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          start_new_session=True, timeout=60, **as_person(person))
    assert done.returncode == 125 and "--ask needs a terminal" in done.stderr and "--control-fd" in done.stderr
    assert not (person.project / "made").exists()


def test_without_a_doorman_it_is_refused_by_name(person, terminal):
    screen = terminal(person.binaries / "cloche", "run", "--ask", "--backend", "landlock", "touch", "made")
    assert "--ask needs the doorman" in rest(screen)
    assert not (person.project / "made").exists()


def test_srt_has_no_such_option(person):
    answered = person.srt("--ask", "-c", "touch made")
    assert answered.returncode == 1 and "unknown option '--ask'" in answered.stderr
    assert not (person.project / "made").exists()


def test_in_the_background_nobody_is_asked(person, terminal, place):
    screen = terminal("bash", "--norc", "--noprofile", "--noediting", "-i")
    screen.says("PS1=; PS2=; stty -echo; echo re''ady", "ready\r\n")
    screen.type(f"$cloche run --ask sh -c 'echo x > {place}/made; echo rc=$?' &\n")
    shown = screen.expect("rc=2")
    assert "not in the foreground" in shown and "cloche asks" not in shown
    screen.says("echo st''ill", "still")
    assert os.listdir(place) == []


def test_a_shell_inside_with_jobs_of_its_own_is_asked_and_goes_on(person, terminal, place):
    screen = terminal(person.binaries / "cloche", "run", "--ask", "bash", "--norc", "--noprofile", "--noediting", "-i")
    screen.says("PS1=; PS2=; stty -echo; echo re''ady", "ready\r\n")
    screen.type(f"sh -c 'echo x > {place}/made; echo rc=$?'\n")
    answer(screen, "o")
    said = screen.expect("rc=0")
    assert "Stopped" not in said
    assert "Stopped" not in screen.says("jobs; echo d''one", "done")
    screen.type("exit\n")
    assert (place / "made").read_text() == "x\n"


# By a program


class Program:
    """A run that asks a program, at the other end of --control-fd or --session-fd."""

    def __init__(self, person, option, script):
        self.ours, theirs = socket.socketpair()
        with theirs:
            self.run = subprocess.Popen([person.binaries / "cloche", "run", "-q", "--ask", option, str(theirs.fileno()), "-c", script],
                                        cwd=person.project, env=person.environment, text=True, pass_fds=[theirs.fileno()],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True, **as_person(person))
        self.lines = self.ours.makefile("r")
        if option == "--session-fd":
            self.say({"ready": True, "asks": True})

    def say(self, message):
        self.ours.sendall(json.dumps(message).encode() + b"\n")

    def asked(self, **reply):
        for line in self.lines:
            said = json.loads(line)
            if "ask" in said:
                self.say({"answer": said["ask"], **reply})
                return said
        raise AssertionError("nothing was asked")

    def end(self):
        for line in self.lines:
            assert "ask" not in json.loads(line), line
        self.lines.close()
        self.ours.close()
        return self.run.communicate(timeout=60)[0]


@pytest.mark.parametrize("option", ["--control-fd", "--session-fd"])
def test_a_program_is_asked_about_files_sockets_and_hosts(person, place, option):
    program = Program(person, option, f"""
        echo x > {place}/one; echo $?; echo x > {place}/one; echo $?; mkdir {place}/two; echo x > {place}/two/x; echo $?
        echo x > {place}/three; echo x > {place}/three; echo $?; {GET}127.0.0.1:9/""")
    said = program.asked(allow=True)
    assert said["write"] == f"{place}/one" and said["program"].endswith("dash") and said["pid"] > 1
    assert program.asked(allow=False)["write"] == f"{place}/one"
    assert program.asked(allow=True, **{"for": "run"})["write"] == f"{place}/two"
    assert program.asked(allow=False, **{"for": "run"})["write"] == f"{place}/three"
    said = program.asked(allow=True)
    assert (said["host"], said["port"]) == ("127.0.0.1", 9)
    assert program.end() == "0\n2\n0\n2\ncode=502 "
    assert sorted(os.listdir(place)) == ["one", "two"]


def test_when_the_program_ends_nothing_is_allowed(person, place):
    program = Program(person, "--control-fd", f"echo x > {place}/one; echo $?; echo x > {place}/two; echo $?")
    for line in program.lines:
        if "ask" in json.loads(line):
            break
    program.lines.close()
    program.ours.close()
    assert program.run.communicate(timeout=60)[0] == "2\n2\n"
    assert os.listdir(place) == []


def test_nothing_is_an_answer_but_a_yes_to_this_question(person, place):
    program = Program(person, "--control-fd", f"echo x > {place}/one; echo $?")
    for line in program.lines:
        if "ask" in (said := json.loads(line)):
            break
    program.ours.sendall(b'{"answer":0,"allow":true}\n{"answer":%d,"allow":true}\n\0\xff\n{"answer":\n' % (said["ask"] + 1))
    program.say({"answer": said["ask"], "allow": "yes"})
    assert program.end() == "2\n"
    assert os.listdir(place) == []


def test_what_was_allowed_is_told(person, place):
    program = Program(person, "--control-fd", f"echo x > {place}/one")
    program.asked(allow=True)
    told = [json.loads(line) for line in program.lines]
    assert any(each.get("verdict") == "allowed" and each.get("object") == f"{place}/one" for each in told), told
    program.ours.close()
    program.run.communicate(timeout=60)


def test_where_every_open_is_performed_the_same_answers_count(person, ask):
    person.file(person.home / "notes.txt", "my notes\n")
    person.file(person.home / "notes.key", "my key\n")
    screen = ask("cat ~/notes.key; cat ~/notes.txt; cat ~/notes.txt; echo rc=$?", "--deny-read", "~/**/*.key")
    assert f"{person.home}/notes.txt\r\n" in answer(screen, "o")
    screen.expect("my notes")
    answer(screen, "n")
    said = rest(screen)
    assert "my notes" not in said and "my key" not in said and "rc=1" in said


def test_no_answer_in_time_is_a_no(unanswered, lodger):
    said = rest(unanswered)
    assert "no answer, so: no" in said and "rc=2" in said
    assert not (lodger.home / "made").exists()

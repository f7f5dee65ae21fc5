"""The package for Python (bindings/python), used by programs that run as their users would run them."""

import pathlib
import re
import shutil
import subprocess

import pytest

from judging import as_person

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = TOP / "bindings" / "python"
PATIENCE = 120


@pytest.fixture
def programmer(person):
    place = person.base / "library"
    shutil.copytree(PACKAGE / "cloche", place / "cloche")
    person.environment |= {"PYTHONPATH": str(place), "CLOCHE": str(person.binaries / "cloche"),
                           "PYTHONDONTWRITEBYTECODE": "1"}
    return person


def python(person, code, *arguments):
    """What a program printed. It must end well, without a warning."""
    script = person.file("program.py", "import asyncio, os, signal, subprocess, sys, threading, time\nimport cloche\n" + code)
    ran = subprocess.run(["/usr/bin/python3", "-W", "error", script, *arguments], cwd=person.project, text=True,
                         env=person.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                         check=False, **as_person(person))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_a_command_runs_as_with_subprocess(programmer):
    said = python(programmer, """
done = cloche.run(["sh", "-c", "cat; echo err >&2; exit 7"], input="in", capture_output=True, text=True)
print(done.returncode, done.stdout, repr(done.stderr), done.events, done.refused)
print(cloche.run("echo $HERE", env={**os.environ, "HERE": "x"}, stdout=subprocess.PIPE).stdout)
print(cloche.run(["pwd"], cwd="/usr", project=".", capture_output=True, text=True, options=["--allow-read", "/usr"]).returncode)
try:
    cloche.run(["false"], check=True)
except subprocess.CalledProcessError as problem:
    print(type(problem).__name__, problem.returncode)
try:
    cloche.run(["sleep", "100"], timeout=0.2)
except subprocess.TimeoutExpired:
    print("timeout")
""")
    assert said == "7 in 'err\\n' [] False\nb'x\\n'\n0\nCalledProcessError 1\ntimeout\n"


@pytest.mark.parametrize("policy", ['"preset:dev"', '"policy.json"', '{"extends": ["preset:dev"]}',
                                    '["preset:dev", {"network": {"deniedDomains": ["x.test"]}}]', "None"])
def test_every_form_of_policy_holds(programmer, policy):
    programmer.file("policy.json", {"extends": ["preset:dev"]})
    said = python(programmer, f"""
done = cloche.run("echo x >made && mkdir locked", policy={policy}, options=["--deny-write", "locked"], capture_output=True, text=True)
print(done.returncode, os.path.exists("made"), [(e.kind, e.op, e.verdict) for e in done.denied], done.denied[0].object)
""")
    assert said.startswith("1 True [('fs.write', 'mkdir', 'denied')] ") and said.endswith("/project/locked\n")
    assert not (programmer.project / "locked").exists()


def test_hosts_are_asked_about_and_only_true_allows(programmer):
    said = python(programmer, """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"page")
    def log_message(self, *words): pass
server = HTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_address[1]
asked = []
def ask(question):
    asked.append(question.host)
    if question.host == "raises.test": raise RuntimeError
    return {"127.0.0.1": True, "reason.test": "not today", "truthy.test": 1}.get(question.host, False)
get = "curl -s -o /dev/null -w '%{http_code} ' --noproxy '' -x http://localhost:3128 http://"
hosts = [f"127.0.0.1:{port}", "reason.test", "truthy.test", "raises.test", "other.test"]
script = "; ".join(get + host + "/" for host in hosts)
done = cloche.run(script, ask=ask, options=["-q"], capture_output=True, text=True)
print(done.stdout, sorted(asked))
print([event.reason for event in done.denied])
print(cloche.run(script, options=["-q", "--allow-domain", "allowed.test"], capture_output=True, text=True).stdout)
async def slowly(question):
    await asyncio.sleep(0.05)
    return ask(question)
print(asyncio.run(cloche.async_run(script, ask=slowly, options=["-q"], capture_output=True)).stdout.decode())
server.shutdown(); server.server_close()
""")
    lines = said.splitlines()
    assert lines[0] == "200 403 403 403 403  ['127.0.0.1', 'other.test', 'raises.test', 'reason.test', 'truthy.test']"
    assert lines[1] == "['not today', 'user denied', 'permission prompt failed', 'user denied']"
    assert lines[2:] == ["403 403 403 403 403 ", "200 403 403 403 403 "]


def test_files_are_asked_about_where_that_is_wanted(programmer):
    said = python(programmer, """
asked = []
def ask(question):
    asked.append((question.kind, os.path.basename(question.path), question.host, question.pid > 1))
    return {"kept": cloche.Allow.RUN, "once": True, "twice": cloche.Allow.ONCE}.get(asked[-1][1], "no")
script = "mkdir ../kept; echo x > ../kept/x; echo x > ../once; echo x > ../once; echo x > ../twice; echo x > ../other"
done = cloche.run(script, ask=ask, options=["-q", "--ask"], capture_output=True, text=True)
print(asked)
async def slowly(question):
    await asyncio.sleep(0.05)
    return question.path.endswith("/later")
print(asyncio.run(cloche.async_run("echo x > ../later", ask=slowly, options=["-q", "--ask"], capture_output=True)).returncode)
""")
    asked = [("write", name, "", True) for name in ("kept", "once", "once", "twice", "other")]
    assert said.splitlines() == [str(asked), "0"]
    made = {path.name for path in programmer.home.iterdir()}
    assert {"kept", "once", "twice", "later"} <= made and "other" not in made
    assert (programmer.home / "kept/x").read_text() == "x\n"


def test_events_come_while_the_command_runs(programmer):
    said = python(programmer, """
process = cloche.Popen("mkdir one; read line; mkdir two", stdin=subprocess.PIPE, options=["-q", "--deny-write", "one", "--deny-write", "two"], stderr=subprocess.DEVNULL)
for event in process.events():
    print(event.object.rpartition("/")[2], process.poll())
    if event.object.endswith("one"):
        process.stdin.write(b"on\\n"); process.stdin.close()
print(process.wait(), list(process.events()))
seen = []
cloche.run("mkdir three", on_event=seen.append, capture_output=True, options=["--deny-write", "three"])
print([event.denied for event in seen])
""")
    assert re.fullmatch(r"one None\ntwo (None|1)\n1 \[\]\n\[True\]\n", said)


def test_misuse_is_answered(programmer):
    programmer.file("broken.json", "{")
    programmer.file("other", "#!/bin/sh\necho cloche 99.0.0\n").chmod(0o755)
    said = python(programmer, """
def tried(work):
    try:
        return work()
    except Exception as problem:
        return type(problem).__name__, str(problem).replace(os.getcwd(), ".")[:60]
print(tried(lambda: cloche.run(["true"], binary="/nowhere/cloche")))
print(tried(lambda: cloche.run(["true"], binary="./other")))
print(tried(lambda: cloche.run([])))
print(tried(lambda: cloche.run(["true"], shell=True)))
print(tried(lambda: cloche.run(["true"], policy={"text": "x" * 200000})))
print(tried(lambda: cloche.run(["true"], policy="broken.json", check=True, capture_output=True, text=True))[0])
print(tried(lambda: cloche.explain("read:/x", policy="broken.json"))[0])
print(cloche.run(["true"], policy="broken.json", capture_output=True).refused, cloche.check("broken.json")[0])
print(tried(lambda: cloche.run(["a\\0b"]))[0])
print(tried(lambda: cloche.run(["true"], cwd="/nowhere"))[0])
""")
    lines = said.splitlines()
    assert lines[0].startswith("('BinaryError', \"there is no program '/nowhere/cloche'")
    assert lines[1].startswith("('BinaryError', ") and "99.0.0" in lines[1]
    assert lines[2:4] == ["('ValueError', 'no command given')",
                          "('TypeError', 'shell cannot be used: a text is for a shell, and cloche star')"]
    assert lines[4].startswith("('PolicyError', ")
    assert lines[5:] == ["RefusedError", "PolicyError", "True False", "ValueError", "FileNotFoundError"]


def test_a_run_ends_with_the_program_or_when_it_is_told_to(programmer):
    said = python(programmer, """
process = cloche.Popen("echo started; sleep 1000", stdout=subprocess.PIPE)
process.stdout.readline()
process.end()
print(process.wait(30) != 0)
process.stdout.close()
async def bounded():
    try:
        await asyncio.wait_for(cloche.async_run(["sleep", "1001"]), 0.3)
    except asyncio.TimeoutError:
        print("bounded")
asyncio.run(bounded())
child = subprocess.Popen([sys.executable, "-c", "import cloche; cloche.run('echo started; sleep 1002')"], stdout=subprocess.PIPE)
child.stdout.readline()
child.kill(); child.wait(); child.stdout.close()
for _ in range(600):
    left = subprocess.run(["pgrep", "-u", str(os.getuid()), "-fx", "sleep 100[012]"], stdout=subprocess.PIPE).stdout
    if not left: break
    time.sleep(0.05)
print(left)
""")
    assert said == "True\nbounded\nb''\n"


def test_commands_of_a_session_share_a_tmp(programmer):
    said = python(programmer, """
before = os.listdir("/proc/self/fd")
with cloche.Session(policy="preset:dev", project=".") as session, cloche.Session() as other:
    session.run("mkfifo /tmp/pipe; echo one >/tmp/one", check=True)
    with session.popen("cat /tmp/pipe >/tmp/got"):
        session.run("echo word >/tmp/pipe", check=True)
    print(session.run("cat /tmp/got /tmp/one; ls /proc/self/fd | wc -l", capture_output=True, text=True).stdout)
    print(other.run("ls -A /tmp", capture_output=True, text=True).stdout, bool(session.explain("write:/etc/x")))
    print(asyncio.run(session.async_run(["cat", "/tmp/one"], capture_output=True)).stdout, "--session-tmp" in session.command("x"))
print(sorted(before) == sorted(os.listdir("/proc/self/fd")))
try:
    session.run("true")
except ValueError as problem:
    print(problem)
for tmp in ("session", "private"):
    with cloche.Session(policy={"extends": ["preset:dev"], "filesystem": {"tmp": tmp}}) as session:
        session.run("echo two >/tmp/two", check=True)
        print(session.run("cat /tmp/two", capture_output=True).returncode,
              subprocess.run(session.command(["cat", "/tmp/two"]), capture_output=True).returncode)
try:
    cloche.Session(policy={"unknown": 1})
except cloche.PolicyError as problem:
    print(type(problem).__name__)
""")
    assert said == ("word\none\n4\n\n False\nb'one\\n' False\nTrue\nthe session is closed\n"
                    "0 0\n1 1\nPolicyError\n")


def test_what_is_allowed_for_a_session_is_not_asked_about_again(programmer):
    odd = programmer.file(programmer.home / "a$HOME x")
    programmer.file(programmer.home / "a-other")
    said = python(programmer, """
asked = []
def ask(question):
    asked.append(question.path.rpartition("/")[2])
    return cloche.Allow.SESSION if "$" in question.path else False
async def slowly(question):
    return ask(question)
odd, other = sys.argv[1:]
quiet = {"stderr": subprocess.DEVNULL}
with cloche.Session(options=["--ask", "-q"]) as session:
    print(session.run(["sh", "-c", 'echo 1 >"$1"', "sh", odd], ask=ask, **quiet).returncode)
    print(session.run(["sh", "-c", 'echo 2 >>"$1"', "sh", odd], ask=ask, **quiet).returncode)
    print(asyncio.run(session.async_run(["sh", "-c", 'echo 3 >>"$1"; echo 4 >>"$2"', "sh", odd, other], ask=slowly, **quiet)).returncode)
print(asked, session._options[2:3])
""", odd, programmer.home / "a-other")
    assert said.startswith("0\n0\n"), said
    assert odd.read_text() == "1\n2\n3\n" and (programmer.home / "a-other").read_text() == "content\n"
    assert "['a$HOME x', 'a-other'] ['--allow-write']" in said


def test_many_at_once_leave_nothing(programmer):
    said = python(programmer, """
def left():
    return len(os.listdir("/proc/self/fd")), threading.active_count()
cloche.run(["true"])
before = left()
threads = [threading.Thread(target=lambda i=i: results.append((i, cloche.run(f"exit {i}").returncode))) for i in range(16)]
results = []
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(results) == [(i, i) for i in range(16)])
async def many():
    done = await asyncio.gather(*(cloche.async_run(f"exit {i}") for i in range(16)))
    return [each.returncode for each in done]
print(asyncio.run(many()) == list(range(16)))
for _ in range(500):  # threads of asyncio's own, which wait for processes, end a moment after that
    if left() == before: break
    time.sleep(0.01)
print(left() == before or (before, left()))
""")
    assert said == "True\nTrue\nTrue\n"


def test_the_command_does_not_see_our_descriptors(programmer):
    said = python(programmer, 'print(cloche.run("ls /proc/self/fd | wc -l", capture_output=True, text=True).stdout)')
    assert said.split() == ["4"]


def test_descriptors_for_the_command_reach_it_and_those_for_cloche_do_not(programmer):
    said = python(programmer, """
def handed(start):
    (given, write), (read, taken), (news, events) = os.pipe(), os.pipe(), os.pipe()
    os.write(write, b"a line\\n")
    text = f'read line <&{given}; echo "got $line" >&{taken}; ls /proc/self/fd | wc -l; true <&{events}'
    done = start(["bash", "-c", text], pass_fds=[given, taken, events], options=["-q", "--timeout", str(taken), "--events", f"fd:{events}"],
                 capture_output=True)
    for fd in (given, taken, events): os.close(fd)
    print(done.returncode, done.stdout, os.read(read, 100), os.read(read, 100), b'"run"' in os.read(news, 100000), b"ad file desc" in done.stderr)
handed(cloche.run)
handed(lambda *args, **keywords: asyncio.run(cloche.async_run(*args, **keywords)))
with cloche.Session() as session:
    handed(session.run)
""")
    assert said == "1 b'6\\n' b'got a line\\n' b'' True True\n" * 3


SNIPPETS = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.S)
SAID = [
    "hello\nfs.write locked denied\n",
    "mkdir locked\n3\n",
    "Connection blocked by network allowlist\n\n['use the mirror']\n",
    "0\n",
    "[b'0\\n', b'1\\n', b'2\\n']\n",
    "hello\n1\n",
    "True False\n",
]


@pytest.mark.parametrize("number", range(len(SAID)))
def test_each_example_of_its_documentation_works(programmer, number):
    assert len(SNIPPETS) == len(SAID)
    assert python(programmer, SNIPPETS[number]) == SAID[number]


def test_the_version_is_that_of_the_binary_and_nothing_is_needed():
    built = re.search(r"version: '([^']+)'", (TOP / "meson.build").read_text())[1]
    project = (PACKAGE / "pyproject.toml").read_text()
    assert f'version = "{built}"' in project and "dependencies" not in project
    assert f'__version__ = "{built}"' in (PACKAGE / "cloche" / "__init__.py").read_text()
    assert f'VERSION = "{built}"' in (PACKAGE / "cloche" / "_command.py").read_text()
    assert (PACKAGE / "cloche" / "py.typed").exists()

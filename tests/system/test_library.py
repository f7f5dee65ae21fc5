"""libcloche, used by programs: a driver (tests/library/driver.c) that is built with
sanitizers, and the examples, built as a user would build them from what is installed."""

import os
import pathlib
import shutil
import signal
import subprocess
import uuid

import pytest

from judging import PATIENCE, as_person, processes, wait_until

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CLOCHE_BUILD") or TOP / "build")
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g"]

EXPORTED = """cloche_abi cloche_allow_for_session cloche_annotate cloche_answer cloche_answer_for_run cloche_dispatch cloche_error_code cloche_error_free cloche_error_number cloche_error_text
cloche_explain cloche_free cloche_kill cloche_policy_add_file cloche_policy_add_json cloche_policy_add_preset
cloche_policy_free cloche_policy_new cloche_process_free cloche_process_pid cloche_session_fd cloche_session_free
cloche_session_new cloche_session_on_ask cloche_session_on_event cloche_session_update cloche_signal cloche_spawn cloche_version cloche_wait
cloche_wrap cloche_wrap_shell""".split()


def compile_program(where, sources, flags):
    made = where / "program"
    subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", *map(str, sources), "-o", made,
                    *flags], check=True, timeout=PATIENCE * 4)  # fmt: skip
    return made


def bring(person, file):
    """A copy where that person can read and run it."""
    own = person.base / file.name
    shutil.copy(file, own)
    own.chmod(0o755)
    return own


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    where = tmp_path_factory.mktemp("driver")
    version = subprocess.run([BUILD / "cloche", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return compile_program(where, [*sorted((TOP / "src/lib").glob("*.c")), TOP / "tests/library/driver.c"],
                           [f'-DCLOCHE_VERSION="{version}"', f"-I{TOP}/src", f"-I{TOP}/include", *SANITIZE, "-ljansson",
                            "-lpthread"])  # fmt: skip


@pytest.fixture
def drive(driver, person):
    own = bring(person, driver)

    def call(word, **environment):
        return subprocess.run([own, word, person.binaries / "cloche", person.project], cwd=person.project, text=True,
                              env={**person.environment, **environment}, capture_output=True, timeout=PATIENCE * 3,
                              stdin=subprocess.DEVNULL, check=False, **as_person(person))  # fmt: skip

    call.program = own
    return call


@pytest.mark.parametrize("word", ["ends", "update", "threads", "many", "descriptors", "passed"])
def test_library_keeps_what_its_header_says(drive, person, word):
    answer = drive(word)
    assert (answer.returncode, answer.stderr) == (0, "")
    if word == "threads":
        assert {path.name for path in person.project.glob("by-*")} == {"by-a", "by-b", "by-c", "by-d"}
        assert not list(person.project.glob("only-*"))
    if word == "update":
        assert (person.project / "second").exists() and not (person.project / "third").exists()


def test_commands_of_a_session_share_a_tmp_that_nobody_else_sees(drive):
    answer = drive("tmp")
    assert (answer.returncode, answer.stderr, answer.stdout) == (0, "", "two\n")


def test_denials_reach_the_program_as_events(drive, person):
    answer = drive("events")
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert lines[0] == f"{person.project}/.bashrc"
    assert lines[2:5] == ["said on stderr", "", "<sandbox_violations>"] and ".bashrc" in lines[5]
    assert lines[-1] == "</sandbox_violations>"
    assert (person.project / "made").exists() and not (person.project / ".bashrc").exists()


def test_hosts_are_asked_about_and_lists_replaced_while_commands_run(drive, world, person, site):
    asking = world.start(person, drive.program, "ask", person.binaries / "cloche", person.project)
    said, complaints = asking.communicate(timeout=PATIENCE * 3)
    assert (asking.returncode, complaints) == (0, "")
    assert said.splitlines() == ["asked other.test:80", "asked packages.test:80"]


def test_files_are_asked_about_where_that_is_wanted(drive, person):
    odd, other = person.file(person.home / "a$HOME x"), person.file(person.home / "a-other")
    answer = drive("files")
    assert answer.returncode == 0, answer
    assert answer.stdout.splitlines() == ["asked to write /once", "asked to write /refused", "asked to write /kept",
                                          "asked to write /a$HOME x", "asked to write /a-other", "asked to read /a-other"]
    assert sorted(path.name for path in person.home.iterdir() if not path.name.startswith(".")) == ["a$HOME x", "a-other", "kept", "once", "project"]
    assert odd.read_text() == "1\n2\n" and other.read_text() == "content\n"
    assert sorted(os.listdir(person.home / "kept")) == ["one", "two"]


def test_misuse_is_answered_with_a_reason(drive, person):
    other = person.base / "other-cloche"
    other.write_text("#!/bin/sh\necho cloche 99.0.0\n")
    other.chmod(0o755)
    answer = drive("misuse", OTHER_VERSION=str(other))
    assert (answer.returncode, answer.stderr) == (0, "")


def test_wrapped_commands_are_what_was_wrapped(drive, person):
    answer = drive("wrap")
    shell_text, output = answer.stdout.split("\n", 1)
    assert (answer.returncode, output) == (0, "a b|it's||-c|$HOME `x` \\ \n!|")
    run = subprocess.run(["sh", "-c", shell_text], cwd=person.project, env=person.environment, capture_output=True,
                         text=True, timeout=PATIENCE, check=False, **as_person(person))  # fmt: skip
    assert (run.returncode, run.stdout) == (0, "it's 42\n")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_run_ends_with_the_program_however_it_ends(drive, person, end):
    mark = f"mark-{uuid.uuid4().hex}"
    program = subprocess.Popen([drive.program, "orphan", person.binaries / "cloche", person.project],
                               cwd=person.project, env={**person.environment, "MARK": mark, "ASAN_OPTIONS": "handle_segv=0"},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **as_person(person))  # fmt: skip
    assert program.stdout.readline() == "started\n"
    assert wait_until(lambda: processes(mark, whole=True)), "the positive control: the command runs"
    program.send_signal(end)
    program.wait(PATIENCE)
    assert wait_until(lambda: not processes(mark))


# As a user would build against it


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    where = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", where], check=True,
                   stdout=subprocess.DEVNULL, timeout=PATIENCE * 2)  # fmt: skip
    return where


def package(installed, *words):
    description = next(installed.rglob("cloche.pc"))
    environment = {**os.environ, "PKG_CONFIG_PATH": str(description.parent), "PKG_CONFIG_SYSROOT_DIR": str(installed)}
    answer = subprocess.run(["pkg-config", *words, "cloche"], env=environment, capture_output=True, text=True, check=True)
    return answer.stdout.split()


def test_shared_library_exports_its_header_and_nothing_else(installed):
    library = next(installed.rglob("libcloche.so.1"))
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[-1] for line in listing.splitlines()) == sorted(EXPORTED)
    header = (TOP / "include/cloche.h").read_text()
    assert all(f" {name}(" in header or f"*{name}(" in header for name in EXPORTED)


@pytest.fixture
def example(installed, person, tmp_path):
    library = next(installed.rglob("libcloche.so.1"))
    bring(person, library)
    environment = {**person.environment, "PATH": f"{person.binaries}:{person.environment['PATH']}",
                   "LD_LIBRARY_PATH": str(person.base)}

    def run(name, *arguments, static=False):
        flags = package(installed, "--cflags", "--libs", *(["--static"] if static else []))
        if static:
            flags = [str(library.with_name("libcloche.a")) if flag == "-lcloche" else flag for flag in flags]
        program = bring(person, compile_program(tmp_path, [TOP / "examples" / f"{name}.c"], flags))
        return subprocess.run([program, *arguments], cwd=person.project, env=environment, capture_output=True,
                              text=True, timeout=PATIENCE, check=False, **as_person(person))  # fmt: skip

    return run


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_examples_work_as_their_comments_say(example, person, static):
    answer = example("run", "dev", "sh", "-c", "echo hello; echo x >.bashrc; echo y >made", static=static)
    assert answer.returncode == 0, answer
    assert "hello\n" in answer.stdout and f"denied: fs.write {person.project}/.bashrc" in answer.stdout
    assert (person.project / "made").read_text() == "y\n" and not (person.project / ".bashrc").exists()


def test_many_commands_in_one_loop(example, person):
    answer = example("many", "echo one", "sleep 0.2; exit 4", "echo x >.bashrc")
    lines = answer.stdout.splitlines()
    assert answer.returncode == 0 and "one" in lines and "ended with 4" in lines, answer
    assert f"denied fs.write {person.project}/.bashrc" in lines
    assert not [line for line in lines if line.startswith("observed run")]

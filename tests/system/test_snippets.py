"""Every block of code in the documents is run, or compared with what is said. BLOCKS names them all by how they begin,
with the test that runs them: a block that nobody runs fails here."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from judging import BUILD, as_person
from test_ask import place  # noqa: F401
from test_library import bring, installed, package  # noqa: F401

TOP = pathlib.Path(__file__).resolve().parents[2]
PICTURE = "a picture"
BLOCKS = {
    "ARCHITECTURE.md": {" policy files --load-->": PICTURE, "src/base/ ": PICTURE, "base <- policy": PICTURE, "S  supervisor": PICTURE,
                        " inside  ": PICTURE},
    "CONTRIBUTING.md": {"make            # build": "test_make_knows_what_the_documents_name"},
    "README.md": {
        "make run ": "test_make_knows_what_the_documents_name",
        "{": "test_documents.py: test_every_policy_in_the_documents_is_valid_and_runs",
        "cloche run --allow-domain": "test_a_line_of_the_readme_runs_npm_by_name",
        "$ cloche run -- sh -c": "test_what_was_denied_is_told_as_the_readme_shows",
        "$ cloche run --ask": "test_a_question_is_asked_as_the_readme_shows",
        "cloche run [OPTIONS]": "test_the_commands_of_the_readme_are_there",
        "$ cloche explain": "test_answers_are_those_that_the_readme_shows",
        "cloche_policy_add_preset": "test_the_program_of_the_readme_is_built_and_runs",
        "cc program.c": "test_the_program_of_the_readme_is_built_and_runs",
        "export LD_LIBRARY_PATH": "test_the_program_of_the_readme_is_built_and_runs",
    },
    "docs/recipes.md": {"": "test_recipes.py"},  # which looks after its own headings
    "bindings/node/README.md": {"npm install": "test_packages_are_installed_as_their_pages_say", "import": "test_node_package.py"},
    "bindings/python/README.md": {"pip install": "test_packages_are_installed_as_their_pages_say", "import": "test_python_package.py"},
}


def blocks(name):
    return re.findall(r"^```\w*\n(.*?)^```$", (TOP / name).read_text(), re.MULTILINE | re.DOTALL)


def block(name, beginning):
    found = [text for text in blocks(name) if text.startswith(beginning)]
    assert len(found) == 1, (name, beginning)
    return found[0]


def test_every_block_is_run_by_a_test():
    documents = [*TOP.glob("*.md"), *TOP.glob("docs/*.md"), *TOP.glob("bindings/*/README.md"), *TOP.glob("examples/*.md")]
    here = pathlib.Path(__file__)
    for document in documents:
        name = str(document.relative_to(TOP))
        known = BLOCKS.get(name, {})
        texts = blocks(name)
        assert [text for text in texts if not text.startswith(tuple(known))] == [], name
        assert [each for each in known if not any(text.startswith(each) for text in texts)] == [], name
    for where in {where for known in BLOCKS.values() for where in known.values()} - {PICTURE}:
        file, _, test = where.rpartition(": ") if ".py: " in where else (where, "", "") if where.endswith(".py") else (here.name, "", where)
        assert f"def {test}" in here.with_name(file).read_text(), where


def test_make_knows_what_the_documents_name():
    lines = block("CONTRIBUTING.md", "make ") + block("README.md", "make run")
    commands = [line.split("#")[0].split() for line in lines.splitlines()]
    assert len(commands) >= 10
    for words in commands:
        answer = subprocess.run([*words[:1], "-n", *words[1:]], cwd=TOP, capture_output=True, text=True, check=False, timeout=60)
        assert answer.returncode == 0, (words, answer.stderr)


def shell(person, text, world=None, **environment):
    path = f"{person.binaries}:{person.environment['PATH']}"
    if world:
        return world.run(person, "bash", "-euc", text, environment={"PATH": path, **environment})
    return subprocess.run(["bash", "-euc", text], cwd=person.project, text=True, capture_output=True, timeout=60, check=False,
                          env={**person.environment, "PATH": path, **environment}, **as_person(person))


def test_a_line_of_the_readme_runs_npm_by_name(world, person, site):
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    person.file("package.json", {"name": "mine", "version": "1.0.0"})
    answer = shell(person, block("README.md", "cloche run --allow-domain"), world)
    assert answer.returncode == 0, answer
    assert (person.project / "package-lock.json").exists()


def as_shown(person, text):
    return text.replace(str(person.home), "/home/you")


def same_but_for_root(person, text):
    """To root the homes of others are hidden by a rule, and this one is among them."""
    rule = r"no allowWrite covers it( \(built-in: filesystem.allowWrite\))?|a rule says none[^()\n]*?( \(preset:dev: rules\[0\]\))?(?=[\n)])"
    return re.sub(rule, "WHY", text) if person.uid == 0 else text


def test_what_was_denied_is_told_as_the_readme_shows(person):
    command, _, expected = block("README.md", "$ cloche run -- sh -c").partition("\n")
    person.directory(person.home / "builds")
    answer = shell(person, command.removeprefix("$ "))
    shown = as_shown(person, answer.stderr)
    shown = "".join(line for line in shown.splitlines(True) if line.startswith("cloche:"))
    program = pathlib.Path("/bin/sh").resolve().name
    assert same_but_for_root(person, shown) == same_but_for_root(person, expected.replace("by dash", f"by {program}"))


def test_a_question_is_asked_as_the_readme_shows(person, terminal, place):  # noqa: F811
    command, _, expected = block("README.md", "$ cloche run --ask").partition("\n")
    person.file("Makefile", "install:\n\t@mkdir $(DESTDIR)/bin\n")
    words = command.removeprefix("$ ").replace("/srv/app", str(place)).split()
    screen = terminal(person.binaries / words[0], *words[1:])
    shown = as_shown(person, (screen.expect("is a no):") + "is a no):").replace("\r\n", "\n")).replace(str(place), "/srv/app")
    shown = re.sub(r"\(process \d+\)", "(process 4711)", shown[shown.index("cloche asks."):])
    assert shown.strip() == expected.strip()


def test_the_commands_of_the_readme_are_there(person):
    lines = [line for line in block("README.md", "cloche run [OPTIONS]").splitlines() if line.startswith("cloche ")]
    commands = {name for line in lines for name in re.findall(r"cloche (\w+)", line.split("  ")[0])}
    assert len(commands) >= 10
    for name in commands:
        answer = person.cloche(name, "--help")
        assert answer.returncode == 0 and f"cloche {name}" in answer.stdout, name
    options = {option for line in lines for option in re.findall(r"(\w+) .*?(--\w+)", line.split("  ")[0].removeprefix("cloche "))}
    for name, option in options:
        assert option in person.cloche(name, "--help").stdout, (name, option)


def test_answers_are_those_that_the_readme_shows(person):
    command, _, expected = block("README.md", "$ cloche explain").partition("\n")
    person.file("src/main.c", "")
    person.file(".git/hooks/pre-commit", "")
    answer = shell(person, command.removeprefix("$ ") + " || true")
    columns = re.compile(" {2,}")  # as wide as the paths
    assert columns.sub("  ", as_shown(person, answer.stdout)) == columns.sub("  ", expected), answer.stderr


PROGRAM = """
#include <cloche.h>
int main(void)
{
    static const char *const words[] = {"true", NULL};
    cloche_error *error = NULL;
    struct cloche_status status = {.size = sizeof status};
    struct cloche_spawn spawn = {.size = sizeof spawn, .argv = words, .input = 0, .output = 1, .diagnostics = 2};
    cloche_policy *policy = cloche_policy_new(&error);
%s
    return error || status.code;
}
"""


def test_the_program_of_the_readme_is_built_and_runs(installed, person, tmp_path):  # noqa: F811
    """Where it was installed to is put in the place of ~/.local."""
    library = next(installed.rglob("libcloche.so.1")).parent
    assert package(installed, "--libs")
    setting = block("README.md", "export LD_LIBRARY_PATH").replace("$HOME/.local/lib/x86_64-linux-gnu", str(library))
    assert str(library) in setting
    (tmp_path / "program.c").write_text(PROGRAM % block("README.md", "cloche_policy_add_preset"))
    building = f"{setting}\nexport PKG_CONFIG_SYSROOT_DIR={installed}\n{block('README.md', 'cc program.c')}"
    subprocess.run(["bash", "-euc", building], cwd=tmp_path, check=True, timeout=60)
    program = bring(person, tmp_path / "program")
    bring(person, library / "libcloche.so.1")
    answer = shell(person, str(program), LD_LIBRARY_PATH=str(person.base))
    assert answer.returncode == 0, answer


def test_packages_are_installed_as_their_pages_say(tmp_path):
    """Without a network: they need nothing else."""
    copy = tmp_path / "cloche"
    for name in ("node", "python"):
        shutil.copytree(TOP / "bindings" / name, copy / "bindings" / name)
    target = tmp_path / "target"
    environment = {**os.environ, "npm_config_offline": "true", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_TARGET": str(target),
                   "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "CLOCHE": str(BUILD / "cloche")}
    uses = []
    if shutil.which("npm"):
        uses.append(("bindings/node/README.md", "npm install", ["node", "-p", "require('cloche').version"]))
    if subprocess.run(["/usr/bin/python3", "-c", "import pip, setuptools"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
        uses.append(("bindings/python/README.md", "pip install", ["/usr/bin/python3", "-c", "import cloche; print(cloche.__version__)"]))
    assert uses, "neither npm nor pip is here"
    for page, beginning, use in uses:
        line = block(page, beginning).replace("/path/to/cloche", str(copy)).replace("pip ", "/usr/bin/python3 -m pip ")
        subprocess.run(["bash", "-euc", line], cwd=tmp_path, check=True, env=environment, timeout=120, stdout=subprocess.DEVNULL)
        used = subprocess.run(use, cwd=tmp_path, check=True, env={**environment, "PYTHONPATH": str(target)}, capture_output=True, text=True)
        assert re.fullmatch(r"\d+\.\d+\.\d+\n", used.stdout), used


LITERALS = ('[ -n "$SANDBOX_RUNTIME" ]', "cloche run --events", "<sandbox_violations>", "cloche init")  # the last: test_documents.py


def literals():
    found = re.findall(r"\.Bd -literal[^\n]*\n(.*?)\n\.Ed", (TOP / "man" / "cloche.1").read_text(), re.DOTALL)
    assert [text for text in found if not text.startswith(LITERALS)] == []
    return {beginning: next(text for text in found if text.startswith(beginning)) for beginning in LITERALS}


def test_a_prompt_tells_that_it_is_under_glass(person):
    prompt = literals()[LITERALS[0]]
    person.file("prompt.sh", f"PS1='> '\n{prompt}\necho \"$PS1\"\n")
    assert person.cloche("run", "sh", "prompt.sh").stdout == "(cloche) > \n"
    assert shell(person, "sh prompt.sh").stdout == "> \n"


def test_errors_are_annotated_as_the_manual_page_shows(person):
    person.directory(person.home / "out")
    person.file("Makefile", "all:\n\t-echo x >~/out/x\n")
    texts = literals()
    answer = shell(person, texts["cloche run --events"])
    assert answer.returncode == 0, answer
    _, tag, rest = as_shown(person, answer.stdout).partition("<sandbox_violations>")
    assert same_but_for_root(person, (tag + rest).strip()) == same_but_for_root(person, texts["<sandbox_violations>"])

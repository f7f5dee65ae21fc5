"""The manual pages, completions and documents say what the program says."""

import os
import pathlib
import re
import subprocess

import pytest

from judging import as_person

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
CLOCHE = os.environ.get("CLOCHE") or str(TOP / "build" / "cloche")
COMMANDS = ["run", "explain", "check", "presets", "init", "trust", "doctor", "learn", "log", "annotate", "import",
            "session"]
LONG_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]+)")
SHORT_OPTION = re.compile(r"(?<![\w-])-([a-zA-Z])(?![\w-])")


def help_text(command):
    return subprocess.run([CLOCHE, command, "--help"], capture_output=True, text=True, check=True).stdout


def page(name):
    """A manual page as a reader sees it, one paragraph per line."""
    text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=1000", str(TOP / "man" / name)], capture_output=True,
                          text=True, check=True).stdout
    return re.sub(r".\x08", "", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_help_is_in_the_manual_page(command):
    text = help_text(command).replace("read -r", "read")  # an option of the shell's
    manual = page("cloche.1")
    named = set(LONG_OPTION.findall(manual)), set(SHORT_OPTION.findall(manual))
    assert set(LONG_OPTION.findall(text)) - named[0] == set()
    assert set(SHORT_OPTION.findall(text)) - named[1] == set()


def test_help_of_run_names_options_at_all():
    """The control: were the help empty, the tests around this one would prove nothing."""
    assert {"settings", "preset", "allow-read", "deny-write"} <= set(LONG_OPTION.findall(help_text("run")))


@pytest.mark.parametrize("shell", ["cloche.bash", "_cloche", "cloche.fish"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_help_is_completed(command, shell):
    completion = (TOP / "completions" / shell).read_text()
    # fish spells long options -l NAME.
    known = set(LONG_OPTION.findall(completion)) | set(re.findall(r"-l ([a-z][a-z-]+)", completion))
    assert re.search(rf"\b{command}\b", completion)
    assert set(LONG_OPTION.findall(help_text(command))) - known == set()


def key_names():
    """Every name in the table of keys."""
    return set(re.findall(r'\.name = "([^"]+)"', (TOP / "src" / "policy" / "keys.c").read_text()))


def test_every_key_of_the_loader_is_in_the_manual_page():
    manual = set(re.findall(r"[$\w]+", page("cloche.json.5")))
    keys = key_names()
    assert {"extends", "filesystem", "allowRead", "readMode"} <= keys, "the table of keys was not found"
    assert keys - manual == set()


def test_the_manual_page_tells_of_every_preset(person):
    section = page("cloche.json.5").split("\nPRESETS")[1].split("\nPROTECTED NAMES")[0]
    listed = set(re.findall(r"^ {5}(\w+) +[A-Z]", section, re.MULTILINE))
    assert listed == {line.split()[0] for line in person.cloche("presets").stdout.splitlines()}


def test_examples_of_the_manual_page_work(person):
    person.file("Makefile", "all:\n\techo made > made\n")
    section = (TOP / "man" / "cloche.1").read_text().split(".Sh EXAMPLES")[1].split(".Sh DIAGNOSTICS")[0]
    lines = [line.removeprefix(".Dl ") for line in section.splitlines() if re.match(r"(\.Dl )?cloche ", line)]
    assert len(lines) >= 8
    for line in lines:
        done = subprocess.run(["bash", "-c", line], cwd=person.project, capture_output=True, text=True, check=False, timeout=60,
                              env={**person.environment, "PATH": f"{person.binaries}:{person.environment['PATH']}"},
                              stdin=subprocess.DEVNULL, **as_person(person))
        refusal = line.startswith("cloche explain write:.git/hooks")
        assert done.returncode == (1 if refusal else 0), (line, done.stderr)
    assert (person.project / "made").read_text() == "made\n"
    assert (person.home / "report").read_text() == "echo made > made\n"


def braces(word):
    """a{b,c} -> ab ac"""
    match = re.fullmatch(r"(.*)\{(.*)\}(.*)", word)
    return [match[1] + each + match[3] for each in match[2].split(",")] if match else [word]


def test_every_protected_name_is_in_the_manual_page():
    table = re.search(r"protected_names\[\] = \{(.*?)NULL", (TOP / "src/policy/protect.c").read_text(), re.DOTALL)[1]
    names = set(re.findall(r'"([^"]+)"', table))
    assert ".git/hooks/" in names
    shown = {name for word in page("cloche.json.5").split() for name in braces(word)}
    # The page says of these only that they are the same as those above.
    assert ".git/modules/**," in shown
    assert {name for name in names if not name.startswith(".git/modules/")} - shown == set()


def examples_of(name, language):
    return re.findall(rf"```{language}\n(.*?)```", (TOP / name).read_text(), re.DOTALL)


def literal_blocks(name):
    return re.findall(r"\.Bd -literal[^\n]*\n(.*?)\n\.Ed", (TOP / "man" / name).read_text(), re.DOTALL)


def policy_examples():
    for text in examples_of("README.md", "jsonc"):
        yield pytest.param(text, id="README.md")
    for number, text in enumerate(literal_blocks("cloche.json.5")):
        if text.startswith("{"):
            yield pytest.param(text, id=f"cloche.json.5-{number}")


# What the examples speak of.
SETTING = ("fixtures/customers", "secrets", "out", "~/builds/thing", "~/builds/this-project", "~/.config/tool")


@pytest.mark.parametrize("text", policy_examples())
def test_every_policy_in_the_documents_is_valid_and_runs(text, person):
    for name in SETTING:
        person.directory(person.home / name[2:] if name.startswith("~/") else person.project / name)
    policy = person.file(person.home / "policy.json", text)
    check = person.cloche("check", str(policy))
    assert check.returncode == 0, check.stderr
    run = person.cloche("run", "-s", str(policy), "echo", "hello")
    assert (run.returncode, run.stdout) == (0, "hello\n"), run.stderr


@pytest.mark.parametrize("option, word", [("--allow-degraded", "late-names"), ("--backend", "landlock")])
def test_closed_lists_of_words_are_the_same_everywhere(option, word):
    refusal = subprocess.run([CLOCHE, "run", option, "nonsense", "true"], capture_output=True, text=True, check=False).stderr
    words = re.search(r"it takes: ([^;\n]*)", refusal).group(1).split(", ")
    assert word in words and len(words) >= 3
    completions = [(TOP / "completions" / name).read_text() for name in ("cloche.bash", "_cloche", "cloche.fish")]
    for text in (*completions, help_text("run"), help_text("explain"), page("cloche.1")):
        assert [each for each in words if each not in text] == []
    for text in completions:
        assert " ".join(words) in text


def test_links_between_documents_lead_somewhere():
    for document in TOP.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (TOP / target).exists(), f"{document.name} -> {target}"


def test_attacks_named_in_comments_are_listed():
    listed = set(re.findall(r"^\| (\d+) \|", (TOP / "docs" / "attacks.md").read_text(), re.MULTILINE))
    named = set()
    for source in [*TOP.glob("src/*/*.[ch]"), *TOP.glob("tools/*.c")]:
        for run in re.findall(r"attacks? (\d+(?:(?:, | and )\d+)*)", source.read_text()):
            named |= set(re.findall(r"\d+", run))
    assert "5" in named
    assert named - listed == set()


def test_files_named_in_the_architecture_exist():
    text = (TOP / "ARCHITECTURE.md").read_text()
    named = re.findall(r"`((?:policy|plan|host|jail|session|cli)/[\w.*]+\.[ch])`", text)
    assert named
    for name in named:
        assert list((TOP / "src").glob(name)), name


def test_make_run_demonstrates_what_it_says():
    answer = subprocess.run([TOP / "scripts/demo", CLOCHE], cwd=TOP, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr

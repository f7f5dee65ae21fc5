"""What cloche reads in a git configuration is what git reads in it: every key, in the same order, with the same value,
and no other. Files are made at random from pieces that git and others find hard; a fixed seed, so that a failure comes
again. GIT_CONFIG_FILES is how many: the default is short, a long night finds more."""

import os
import random
import subprocess

import pytest

from judging import BUILD

FILES = int(os.environ.get("GIT_CONFIG_FILES") or 600)
PLAIN = ["[core]", "[CORE]", '[remote "origin"]', '[remote "Ori.gin"]', '[a "b]c"]', '[a "b#c"]', '[a  "b"]', "[a] # c", "[a]; c",
         "[a-b]", "bare = true", "bare=true", "Bare", "url = https://example.org/x", "url = x # y", "url = x;y", 'url = "x # y"',
         'url = "x"y"z"', 'name = " x "', "name = x  y", "name = \tx\t", 'name = "" x', 'name = x "" ', "name = x\\\\",
         'name = \\"x\\"', "name = \\n\\t", "name = ä€", "name = \udc80\udcff", "name =", "name = =", "a-1 = x", "x = [y]",
         "# comment", ";comment", "\t# comment", "   ", "", "[include]", "path = x", "#" * 300, "key = " + "v" * 3000,
         'k = "a;b" ; "c', "k = a \\\" b", 'k = "\\\\"', "k = \"  \"", "k = a\t#"]
HARD = ["[a.b]", "[a]x=1", '[a ""]', '[a "b\\"c"]', "[", "]", '[a "b" ]', "[-]", "[1]", '[a\t"b"]', "name = x\ty", 'name = x "', "name = x\\",
        "name = \\b", "name = \\q", 'name = "x\\', "= x", "1a = x", "a_1 = x", "a.b = x", "key value", "key # = x", "key ; c", "\\", '"',
        "\r", "\x0b", "\x0c", "\x00", "\x7f", "\ufeff", "x = \x01", "bare = true\r", "x = y \\\nz = w", '""', "-a = b", "a= b\x0bc"]


def make(rng):
    lines = ["[start]"] + [rng.choice(PLAIN) for _ in range(rng.randint(1, 12))]
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        lines.insert(rng.randint(0, len(lines)), rng.choice(HARD))
    content = rng.choice(["\n", "\n", "\n\t", "\n  "]).join(lines).encode("utf-8", "surrogateescape")
    if rng.random() < 0.3:
        at = rng.randrange(len(content))
        content = content[:at] + bytes([rng.choice(b'\n\r\t "\\#;[]=.ax\x00\x80')]) + content[at + rng.randrange(2):]
    return content


def read_by_git(path):
    done = subprocess.run(["git", "config", "--list", "-z", "--no-includes", "--file", path], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def read_by_cloche(paths):
    done = subprocess.run([BUILD / "tests/unit/list-git-config", *paths], capture_output=True, check=True)
    return [None if one == b"refused" else one for one in done.stdout.split(b"\033\n")[:-1]]


@pytest.mark.parametrize("seed", range(3))
def test_git_reads_what_cloche_reads(tmp_path, seed):
    rng = random.Random(seed)
    paths = [tmp_path / str(number) for number in range(FILES // 3)]
    for path in paths:
        path.write_bytes(make(rng))
    found = read_by_cloche(paths)
    assert len(found) == len(paths)
    understood = [(path, seen) for path, seen in zip(paths, found) if seen is not None]
    assert [path.read_bytes() for path, seen in understood if read_by_git(path) != seen] == []
    # Neither everything nor nothing.
    assert len(paths) / 4 < len(understood) < 3 * len(paths) / 4
    assert sum(seen.count(b"\0") for _, seen in understood) > len(paths)


def test_what_git_itself_writes_is_read(tmp_path):
    path = tmp_path / "config"
    values = ["plain", " padded ", "with # sign", "semi;colon", 'quo"ted', "back\\slash", "two\nlines", "tab\there", "ümläut", "",
              "  ", "a  b", '"', "\\", "=x", "[y]"]
    names = ["core.bare", "remote.origin.url", "branch.feature/x.merge", "a.B c.d", "url.https://x/.insteadOf", "s.ü.k"]
    for number, value in enumerate(values):
        subprocess.run(["git", "config", "--file", path, "--add", names[number % len(names)], value], check=True)
    seen, = read_by_cloche([path])
    assert seen is not None and seen == read_by_git(path)
    assert [entry.partition(b"\n")[2] for entry in seen.split(b"\0")[:-1] if entry.startswith(b"core.bare")] == [b"plain", b"two\nlines", b"\""]
    # Its other edits keep what is there.
    for words in (["--unset-all", "core.bare"], ["--rename-section", "branch.feature/x", "branch.y"], ["--remove-section", "s.ü"]):
        subprocess.run(["git", "config", "--file", path, *words], check=True)
        seen, = read_by_cloche([path])
        assert seen is not None and seen == read_by_git(path)

"""What srt's settings, command line and environment mean, row by row: tests/compat/srt_rows.py has the rows, each named
after what it holds, and srt_rows.json what srt 0.0.83 itself answered. Played by the name srt and through the package
for Node.

Where what is held, by the kinds of things that srt's README and sources say of it:
  settings keys       rows named after the key; what is wrong with values: test_srt_settings.py, tests/unit/test_srt.c
  command line        rows "srt ..."; test_srt.py (options, statuses, signals, other commands); --control-fd: test_network_faults.py
  environment         rows named after the variable; TMPDIR: test_srt.py; as parent proxies: test_network_settings.py
  library             test_node_package.py: scenes recorded from it; tests/node/package.test.mjs beyond it, misuse.test.mjs
  what is observed    rows "exit code", "denied write", "protected path", "mandatory deny", "default writable", "sockets", ...;
                      words of the proxies: test_srt_proxy.py; hosts without namespaces: test_landlock_backend.py
  limits 1 to 16      rows "limit N"; 1, 7, 8, 13, 15, 16 and those of its README: test_srt_limits.py; all through the
                      library: tests/node/limits.test.mjs; what it costs: bench/run --peers, bench/node --peers"""

import json
import pathlib
import re
import shutil
import sys
import tempfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
COMPAT = TOP / "tests" / "compat"
sys.path.insert(0, str(COMPAT))

from srt_rows import ROWS, Stage, scenery  # noqa: E402
from test_node_package import settle_in  # noqa: E402

RECORD = json.loads((COMPAT / "srt_rows.json").read_text())


@pytest.fixture(scope="module")
def lit(world):
    """What the rows speak of beside their own directories."""
    with tempfile.TemporaryDirectory(prefix="cloche-rows-", dir="/home") as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        with scenery(world, place):
            yield place


def compared(row, text):
    return "".join(line for line in text.splitlines(True) if not line.startswith(row.without))


def expected_of(row, *ours):
    """What srt did, or what we do instead."""
    expected = {name: RECORD[row.id][name] for name in ("status", "stdout", "host")}
    for each in ours:
        expected.update(each)
    return expected


def differences(row, expected, result, stderr):
    """Where an answer is not the expected one."""
    if expected.get("stderr", "") not in stderr:
        yield f"{row.id}: it says {stderr!r}"
    for name in ("status", "stdout", "host"):
        wanted, found = ((compared(row, each) if name == "stdout" else each) for each in (expected.get(name, result[name]), result[name]))
        if wanted != found:
            yield f"{row.id}: {name} {found!r}, not {wanted!r} ({stderr[:300]})"


def test_by_the_name_srt(world, person, lit):
    wrong = []
    for number, row in enumerate(ROWS):
        stage = Stage(row, person, person.base / str(number), lit)
        ran = world.run(person, person.binaries / "srt", *stage.words, cwd=stage.work / row.cwd, environment=stage.environment)
        result = stage.result(ran.returncode, ran.stdout)
        wrong += differences(row, expected_of(row, row.ours), result, ran.stderr)
    assert not wrong, "\n".join(wrong)


def test_through_the_package_for_node(world, person, lit):
    settle_in(person)
    rows = [row for row in ROWS if row.settings and not row.words]
    stages = [Stage(row, person, person.base / str(number), lit) for number, row in enumerate(rows)]
    person.file("rows.json", [{"settings": stage.settings, "command": stage.command, "cwd": str(stage.work / stage.row.cwd),
                               "environment": stage.environment} for stage in stages])
    ran = world.run(person, shutil.which("node"), "rows.mjs", seconds=240)
    assert ran.returncode == 0, ran.stderr
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(rows)
    wrong = []
    for stage, answer in zip(stages, answers):
        result = stage.result(answer["status"], answer["stdout"])
        wrong += differences(stage.row, expected_of(stage.row, stage.row.ours, stage.row.library), result, answer["stderr"])
    assert not wrong, "\n".join(wrong)


def keys_of(table, text, prefix=""):
    """Every key that srt has, as the table of keys in the sources says."""
    body = re.search(rf"struct key {table}\[\] = \{{(.*?)\{{\.name = NULL", text, re.S)[1]
    for name, rest in re.findall(r'\{\.name = "([^"]+)"(.*?)(?=\{\.name = |\Z)', body, re.S):
        if "KEY_IN_SRT" in rest:
            yield prefix + name


def test_every_key_of_srt_has_a_row():
    text = (TOP / "src" / "policy" / "keys.c").read_text()
    keys = {*keys_of("policy_keys", text), *keys_of("network_keys", text, "network."), *keys_of("filesystem_keys", text, "filesystem.")}
    assert {"git", "network.allowedDomains", "filesystem.denyRead"} <= keys, "the table was not found"
    about = {row.about for row in ROWS}
    assert [key for key in sorted(keys - {"network", "filesystem"}) if not any(each.startswith(key) for each in about)] == []


def test_every_difference_has_a_reason():
    """Of a limit the row itself is the reason."""
    different = [row for row in ROWS if row.ours or row.without or row.library]
    assert [row.id for row in different if not row.why and not row.about.startswith("limit")] == []
    assert {int(row.about.split()[1]) for row in ROWS if re.match(r"limit \d", row.about)} >= {2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14}


def test_rows_have_names_of_their_own_and_are_recorded():
    assert len({row.id for row in ROWS}) == len(ROWS) > 100
    assert list(RECORD) == [row.id for row in ROWS]

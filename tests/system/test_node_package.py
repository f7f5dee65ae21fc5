"""The package for Node (bindings/node), used as agents use it: by its own tests, which
run in a home of their own, and beside what was recorded from sandbox-runtime."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from judging import BUILD, as_person

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = TOP / "bindings" / "node"
SCENES = TOP / "tests" / "node"
RECORD = json.loads((TOP / "tests" / "compat" / "srt_library.json").read_text())
SETTINGS = json.loads((TOP / "tests" / "compat" / "srt_settings.json").read_text())["cases"]
PATIENCE = 240

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")


def settle_in(person):
    """The package as npm would install it, and the tests beside it."""
    shutil.copytree(PACKAGE, person.project / "node_modules" / "cloche", ignore=shutil.ignore_patterns("node_modules"))
    for file in SCENES.glob("*.mjs"):
        shutil.copy(file, person.project)
    subprocess.run(["chown", "-R", f"{person.uid}:{person.uid}", person.project], check=True)
    person.environment["CLOCHE"] = str(person.binaries / "cloche")


def node(person, *arguments, **keywords):
    return subprocess.run([shutil.which("node"), *arguments], cwd=person.project, env=person.environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False,
                          **as_person(person), **keywords)


@pytest.fixture
def agent(person):
    settle_in(person)
    return person


@pytest.mark.parametrize("name", ["misuse", "package", "limits"])
def test_the_package_keeps_its_promises(agent, name):
    ran = node(agent, "--test", f"{name}.test.mjs")
    failed = re.findall(r"^not ok .*\n(?:  .*\n)*", ran.stdout, re.M)
    assert not failed and ran.returncode == 0, "\n".join(failed) or ran.stdout[-3000:] + ran.stderr
    assert int(re.search(r"^# pass (\d+)$", ran.stdout, re.M)[1]) >= 5


# Where the package differs from what it stands in for, on purpose: in these keys of a scene.
OURS = {
    # There is no port on the host; programs that ignore proxies need no help; TMPDIR is another where
    # /tmp/claude is somebody else's, and works.
    "the environment inside": {"CLAUDE_CODE_HOST_HTTP_PROXY_PORT", "CLAUDE_CODE_HOST_SOCKS_PROXY_PORT",
                               "GIT_SSH_COMMAND", "JAVA_TOOL_OPTIONS", "TMPDIR"},
    # Any connection is accepted inside, and then judged.
    "answers of the proxy": {"direct"},
}


def test_it_behaves_as_sandbox_runtime_does(agent):
    ran = node(agent, "library.mjs", "node_modules/cloche/index.mjs")
    assert ran.returncode == 0, ran.stderr
    ours = json.loads(ran.stdout)
    assert list(ours) == list(RECORD)
    for scene, recorded in RECORD.items():
        if scene == "names that are exported":
            assert set(recorded) <= set(ours[scene])
            continue
        different = OURS.get(scene, set())
        if different:
            recorded = {key: value for key, value in recorded.items() if key not in different}
            ours[scene] = {key: value for key, value in ours[scene].items() if key not in different}
        assert ours[scene] == recorded, scene


def test_configurations_are_judged_in_the_words_of_sandbox_runtime(agent):
    """Its schema's words for each recorded settings file; only "*" is a host pattern here."""
    script = """
        import { readFileSync } from 'node:fs'
        import { SandboxRuntimeConfigSchema as schema } from 'cloche'
        const cases = JSON.parse(readFileSync('cases.json'))
        const out = cases.map(text => {
          const { success, error } = schema.safeParse(JSON.parse(text))
          return success ? [] : error.issues.map(({ path, message }) => `${path.join('.') || '(root)'}: ${message}`)
        })
        console.log(JSON.stringify(out))
    """
    agent.file("judge.mjs", script)

    def is_for_us(case):
        """What JSON.parse cannot hand on, and "*", are no matter of the schema's words."""
        try:
            json.loads(case["settings"])
        except ValueError:
            return False
        return not re.search(r"""\\ud[89a-f]|"\*"|\\[nt]|past a double|past 64 bits|snowman|^ignoreV""", case["name"] + case["settings"])

    chosen = [case for case in SETTINGS if is_for_us(case)][::20]
    assert len(chosen) > 20
    agent.file("cases.json", [case["settings"] for case in chosen])
    ran = node(agent, "judge.mjs")
    assert ran.returncode == 0, ran.stderr
    for case, messages in zip(chosen, json.loads(ran.stdout)):
        assert messages == case["messages"], case["name"]


SNIPPETS = re.findall(r"```js\n(.*?)```", (PACKAGE / "README.md").read_text(), re.S)
SAID = [
    "hello\n\n",
    "note\n\n",
    "refused\n\nwritten\n\n",
    re.compile(r"""mkdir: cannot create directory .*
+<sandbox_violations>
deny network-outbound evil.example:80 \(no\)
deny network-outbound other.example:80 \(other.example:80 is not needed here\)
deny mkdir .*/home/made
</sandbox_violations>
"""),
]


@pytest.mark.parametrize("number", range(len(SAID)))
def test_each_example_of_its_documentation_works(agent, number):
    assert len(SNIPPETS) == len(SAID)
    agent.file("example.mjs", SNIPPETS[number])
    ran = node(agent, "example.mjs")
    expected = SAID[number]
    good = ran.stdout == expected if isinstance(expected, str) else expected.fullmatch(ran.stdout)
    assert good and ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="session")
def compiler():
    """The compiler of TypeScript. Not in the package's own list: npm would want to know of it where the package is used."""
    place = BUILD / "node-tools"
    program = place / "node_modules" / "typescript" / "bin" / "tsc"
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(SCENES / "types" / "package.json", place)
        installed = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=place,
                                   capture_output=True, text=True, check=False, timeout=PATIENCE)
        if installed.returncode:
            pytest.skip("the compiler of TypeScript cannot be had from npm here")
    return program


def test_the_types_are_those_that_agents_use(compiler, tmp_path):
    for file in (SCENES / "types").glob("*.?ts"):
        shutil.copy(file, tmp_path)
    modules = tmp_path / "node_modules"
    modules.mkdir()
    (modules / "cloche").symlink_to(PACKAGE)
    for name in ("@types", "undici-types"):
        (modules / name).symlink_to(compiler.parents[2] / name)
    ran = subprocess.run([shutil.which("node"), compiler, "--noEmit", "--strict", "--module", "nodenext", "--target",
                          "es2022", "--types", "node", "agent.mts", "required.cts"], cwd=tmp_path, capture_output=True,
                         text=True, check=False, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stdout


def test_the_version_is_that_of_the_binary():
    built = re.search(r"version: '([^']+)'", (TOP / "meson.build").read_text())[1]
    assert json.loads((PACKAGE / "package.json").read_text())["version"] == built


def test_nothing_but_the_package_itself_is_needed():
    assert not {"dependencies", "devDependencies"} & set(json.loads((PACKAGE / "package.json").read_text()))
    packed = subprocess.run(["npm", "pack", "--dry-run", "--json"], cwd=PACKAGE, capture_output=True, text=True,
                            check=True, timeout=PATIENCE)
    files = {entry["path"] for entry in json.loads(packed.stdout)[0]["files"]}
    assert {"index.js", "index.mjs", "index.d.ts", "index.d.mts", "lib/sandbox.js", "README.md"} <= files
    assert not [name for name in files if name.startswith(("test", "node_modules"))]

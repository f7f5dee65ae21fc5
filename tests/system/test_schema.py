"""The JSON Schema and the loader say the same of every document.

The schema is what editors go by, the table of keys what a run goes by: the same
keys, the same types, the same words. Beyond that both are asked about thousands of
documents: every key with values of every kind, and random policies."""

import collections
import copy
import json
import os
import pathlib
import random
import re
import subprocess

import jsonschema
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / "share" / "schema" / "cloche.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# Something valid for each named piece of the schema. The pattern in $HOME is one
# that "atStart" takes, too.
SAMPLES = {
    "path": "~/.x*",
    "pathText": "/srv/x",
    "host": "example.com",
    "hostPattern": "*.example.com",
    "name": "NAME_*",
    "protectedName": "x/",
    "systemCall": "ptrace",
    "port": 80,
    "size": "1G",
}

PROBES = [
    None, True, False, 0, 1, -1, 2.0, 1.5, 10, 11, 65535, 65536, 10**7, 1e300, "", "x", "none", "2G", "a\0b", "~user", "!",
    [], ["x"], [""], [1], [None], [[]], [{}], {}, {"x": 1}, {"x": []}, {"path": "/x"}, {"path": "/x", "access": "read"},
]  # fmt: skip


def resolved(schema):
    """The schema with its reference followed, and the reference's name."""
    if isinstance(schema, dict) and "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return SCHEMA["$defs"][name], name
    return schema, None


def sample(schema):
    """A small value that the schema takes."""
    schema, name = resolved(schema)
    if name in SAMPLES:
        return SAMPLES[name]
    if schema is True:
        return 1
    if "examples" in schema:
        return schema["examples"][0]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0])
    kind = schema["type"]
    if kind == "object":
        return {each: sample(schema["properties"][each]) for each in schema.get("required", [])}
    if kind == "array":
        return [sample(schema["items"])] * schema.get("minItems", 0)
    return {"boolean": True, "string": "x", "integer": schema.get("minimum", 1)}[kind]


def alternatives(schema):
    schema, _ = resolved(schema)
    if isinstance(schema, dict) and "anyOf" in schema:
        return [one for each in schema["anyOf"] for one in alternatives(each)]
    return [schema]


def places(schema=SCHEMA, path=""):
    """(path as keys.c spells it, schema, steps) of every key, all the way down."""

    def walk(schema, path, steps):
        for one in alternatives(schema):
            if not isinstance(one, dict):
                continue
            for name, inner in one.get("properties", {}).items():
                inner_path = f"{path}.{name}" if path else name
                yield inner_path, inner, [*steps, name]
                yield from walk(inner, inner_path, [*steps, name])
            if "items" in one:
                yield from walk(one["items"], f"{path}[]", [*steps, 0])

    yield from walk(schema, path, [])


def document_with(steps, value):
    """The smallest policy that has `value` there."""

    def build(schema, steps):
        if not steps:
            return value
        for one in alternatives(schema):
            if not isinstance(one, dict):
                continue
            if steps[0] == 0 and "items" in one:
                return [build(one["items"], steps[1:])]
            if steps[0] in one.get("properties", {}):
                return {**sample(one), steps[0]: build(one["properties"][steps[0]], steps[1:])}
        raise AssertionError(steps)

    return build(SCHEMA, steps)


@pytest.fixture(scope="module")
def check(binaries, tmp_path_factory):
    """Asks `cloche check` about many documents; True for each that is valid."""
    directory = tmp_path_factory.mktemp("schema")
    for name in ("x", "none", "2G", "!"):  # what probes of "extends" name
        (directory / name).write_text("{}")

    def ask(documents):
        names = []
        for number, document in enumerate(documents):
            name = f"{number}.json"
            (directory / name).write_text(json.dumps(document))
            names.append(name)
        valid = set()
        for start in range(0, len(names), 400):
            answer = subprocess.run(
                [binaries / "cloche", "check", *names[start : start + 400]],
                cwd=directory,
                env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "USER": "somebody"},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert answer.returncode in (0, 1), answer.stderr
            valid |= set(re.findall(r"^(\S+): valid(?:, but a run refuses it)?$", answer.stdout, re.MULTILINE))
            # Which system calls there are is for `check` to know, not for the schema.
            unknown = collections.Counter(
                re.findall(r"^(\S+): seccomp\.\S+: there is no system call called ", answer.stdout, re.MULTILINE))
            counts = re.findall(r"^(\S+): (\d+) problems?$", answer.stdout, re.MULTILINE)
            valid |= {name for name, count in counts if unknown[name] == int(count)}
        return [name in valid for name in names]

    return ask


def assert_agreement(documents, check):
    differences = []
    counts = {True: 0, False: 0}
    for document, loads in zip(documents, check(documents), strict=True):
        fits = VALIDATOR.is_valid(document)
        counts[fits] += 1
        if fits != loads:
            differences.append((f"schema {fits}, loader {loads}", document))
    assert not differences, f"{len(differences)} of {len(documents)}: {differences[:5]}"
    return counts


@pytest.fixture(scope="module")
def keys():
    built = pathlib.Path(os.environ.get("CLOCHE", TOP / "build" / "cloche")).parent
    listing = subprocess.run([built / "tests" / "unit" / "list-keys"], capture_output=True, text=True, check=True).stdout
    return {key["path"]: key for key in map(json.loads, listing.splitlines())}


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_schema_and_loader_know_the_same_keys(keys):
    assert {path for path, _, _ in places()} == set(keys)


def test_schema_and_loader_give_keys_the_same_type(keys):
    kinds = {
        "object": "object", "objects": "array", "map": "object", "boolean": "boolean", "integer": "integer",
        "text": "string", "texts": "array", "paths": "array", "ports": "array",
    }  # fmt: skip
    for path, schema, _ in places():
        key = keys[path]
        schema, name = resolved(schema)
        if key["type"] in kinds:
            assert schema["type"] == kinds[key["type"]], path
        elif key["type"] == "word":
            assert schema["enum"] == key["words"], path
        elif key["type"] == "size":
            assert name == "size", path
        if key["type"] == "integer":
            assert (schema["minimum"], schema["maximum"]) == (key["least"], key["most"]), path


def test_schema_and_loader_require_the_same_keys(keys):
    def required(schema, path):
        for one in alternatives(schema):
            if not isinstance(one, dict):
                continue
            for name, inner in one.get("properties", {}).items():
                inner_path = f"{path}.{name}" if path else name
                yield inner_path, name in one.get("required", [])
                yield from required(inner, inner_path)
            if "items" in one:
                yield from required(one["items"], f"{path}[]")

    for path, is_required in required(SCHEMA, ""):
        assert keys[path]["required"] == is_required, path


def test_every_key_is_described():
    for path, schema, _ in places():
        schema, _ = resolved(schema)
        if isinstance(schema, dict) and not path.startswith("windows."):
            assert schema.get("description"), path


def test_every_key_with_a_proper_value_is_taken(check):
    documents = []
    for path, schema, steps in places():
        if schema is False or path in ("network.tlsTerminate.caCertPath", "network.tlsTerminate.caKeyPath"):
            continue
        value = sample(schema) if path != "extends" else ["preset:base"]
        documents.append(document_with(steps, value))
    documents.append({"network": {"tlsTerminate": {"caCertPath": "/c", "caKeyPath": "/k"}}})
    assert assert_agreement(documents, check) == {True: len(documents), False: 0}


def test_every_key_with_values_of_every_kind_gets_the_same_verdict(check):
    documents = [document_with(steps, probe) for _, _, steps in places() for probe in PROBES]
    counts = assert_agreement(documents, check)
    assert min(counts.values()) > 300, counts


def test_every_entry_of_every_list_gets_the_same_verdict(check):
    documents = []
    for _, schema, steps in places():
        for one in alternatives(schema):
            if isinstance(one, dict) and "items" in one:
                documents += [document_with([*steps, 0], probe) for probe in PROBES]
    counts = assert_agreement(documents, check)
    assert min(counts.values()) > 100, counts


def test_marks_of_removal_count_only_where_something_is_inherited(check):
    documents = []
    for lists in ({"tlsTerminate": {"excludeDomains": ["!x.com"]}}, {"mitmProxy": {"socketPath": "/s", "domains": ["!x.com"]}}):
        documents.append({"network": lists})
    documents.append({"credentials": {"files": [{"path": "/k", "mode": "mask", "injectHosts": ["!x.com"]}]}})
    assert assert_agreement(documents, check) == {True: 0, False: len(documents)}
    inherited = [
        {"filesystem": {"denyRead": ["!~/.ssh", "!$PROJECT_DIR/.env*"]}},
        {"environment": {"pass": ["!*"], "deny": ["!AWS_*"]}},
        {"rules": ["!/etc/shadow"]},
    ]
    assert assert_agreement(inherited, check) == {True: len(inherited), False: 0}


def test_unknown_keys_are_refused_in_every_object(check):
    documents = [{"unknown": 1}]
    for _, schema, steps in places():
        for one in alternatives(schema):
            if isinstance(one, dict) and one.get("additionalProperties") is False:
                documents.append(document_with(steps, {**sample(one), "unknown": 1}))
    assert assert_agreement(documents, check) == {True: 0, False: len(documents)}


def random_value(rng, schema, depth=0):
    schema, name = resolved(schema)
    if rng.random() < 0.01:
        return rng.choice(PROBES)
    if isinstance(schema, bool) or name in SAMPLES or "enum" in schema or "examples" in schema:
        return rng.choice(schema["enum"]) if isinstance(schema, dict) and "enum" in schema else sample(schema)
    if "anyOf" in schema:
        return random_value(rng, rng.choice(schema["anyOf"]), depth)
    if schema["type"] == "array":
        size = rng.randint(schema.get("minItems", 0), 3)
        return [random_value(rng, schema["items"], depth + 1) for _ in range(size)]
    if schema["type"] == "object":
        names = set(schema.get("required", []))
        names |= {each for each in schema.get("properties", {}) if rng.random() < (0.5 if depth == 0 else 0.3)}
        names -= {"filterRequest", "extends", "atStart"}
        if "caCertPath" in names or "caKeyPath" in names:
            names |= {"caCertPath", "caKeyPath"}
        value = {each: random_value(rng, schema["properties"][each], depth + 1) for each in names}
        if isinstance(schema.get("additionalProperties"), dict):
            value["NAME"] = random_value(rng, schema["additionalProperties"], depth + 1)
        return value
    return sample(schema)


def test_random_policies_get_the_same_verdict(check):
    rng = random.Random(20261115)
    # Lists of rules and entries of strings that begin with "!" name inherited
    # entries, which a schema cannot know: "rules" has none here.
    schema = copy.deepcopy(SCHEMA)
    schema["properties"]["rules"]["items"] = {"$ref": "#/$defs/rule"}
    counts = assert_agreement([random_value(rng, schema) for _ in range(1500)], check)
    assert min(counts.values()) > 300, counts

#!/usr/bin/env python3
"""Turns share/presets/*.json into one C file: embed-presets.py OUTPUT PRESET..."""
import json
import pathlib
import re
import sys


def summary_of(path, text):
    first = text.split("\n", 1)[0]
    if not first.startswith("// "):
        sys.exit(f"{path}: the first line must be a // comment that says what the preset is for")
    return first[3:].strip()


def c_string(text):
    """One literal per line of the preset, so that the generated file can be read."""
    escapes = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t"}
    lines = []
    for line in text.splitlines(keepends=True):
        encoded = "".join(
            escapes.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in line.encode()
        )
        lines.append(f'        "{encoded}"')
    return "\n".join(lines)


def parsed(text):
    plain = re.sub(r'("(?:[^"\\\\]|\\\\.)*")|//[^\n]*|/\*.*?\*/', lambda match: match.group(1) or "", text, flags=re.S)
    return json.loads(plain)


def tokens(value):
    """The form that json_from_tokens reads: every run loads a preset or two, and parsing text takes its time."""
    if isinstance(value, dict):
        return "{" + "".join(f"k{name}\0" + tokens(member) for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + "".join(map(tokens, value)) + "]"
    if isinstance(value, str) and "\0" not in value:
        return f"s{value}\0"
    if value is None or isinstance(value, bool):
        return {None: "n", True: "t", False: "f"}[value]
    if isinstance(value, int):
        return f"i{value}\0"
    sys.exit(f"presets cannot hold {value!r}")


LISTS = [("filesystem", name) for name in ("denyRead", "allowRead", "allowWrite", "denyWrite")] + [
    ("environment", "deny")
]


def is_compiled(entries):
    """Not what takes inherited entries away, which is done before anything is added."""
    return not any(isinstance(entry, str) and entry.startswith("!") for entry in entries)


def take_lists(preset):
    """The long lists, in the order they are written in; they are gone from the preset then."""
    taken = []
    for section, members in list(preset.items()):
        if isinstance(members, dict):
            for name in [name for name in members if (section, name) in LISTS and is_compiled(members[name])]:
                taken.append((section, name, members.pop(name)))
        elif section == "rules" and all(map(is_rule_about_a_user, members)):
            taken.append(("", section, preset.pop(section)))
    return taken


def is_plain(text):
    """A path that needs nothing but the home before it."""
    parts = text.split("/")
    return (
        len(parts) > 1
        and parts[0] in ("", "~")
        and not any(part in ("", ".", "..") for part in parts[1:])
        and not set(text) & set("*?[$\0")
    )


def is_rule_about_a_user(rule):
    """The shape that all rules of the presets have: they hide from root what others cannot read anyway."""
    return (
        isinstance(rule, dict)
        and sorted(rule) == ["access", "path", "when"]
        and list(rule["when"]) == ["user"]
        and rule["path"].startswith("/")
        and is_plain(rule["path"])
    )


def c_entry(place, entry):
    if place.startswith("rules["):
        return (
            f'    {{.text = SLICE(\n{c_string(entry["path"])}), .place = "{place}", '
            f'.access = "{entry["access"]}", .user = "{entry["when"]["user"]}"}},\n'
        )
    if isinstance(entry, str):
        plain = ", .plain = true" if place.startswith("filesystem.") and is_plain(entry) else ""
        return f'    {{.text = SLICE(\n{c_string(entry)}), .place = "{place}"{plain}}},\n'
    return f'    {{.place = "{place}", .tokens =\n{c_string(tokens(entry))}}},\n'


def c_lists(stem, lists):
    out = ""
    for number, (section, name, entries) in enumerate(lists):
        out += f"static const struct preset_entry {stem}_{number}[] = {{\n"
        place = f"{section}.{name}" if section else name
        out += "".join(c_entry(f"{place}[{i}]", entry) for i, entry in enumerate(entries)) + "};\n\n"
    out += f"static const struct preset_list {stem}_lists[] = {{\n"
    for number, (section, name, entries) in enumerate(lists):
        out += f'    {{"{section}", "{name}", {stem}_{number}, {len(entries)}}},\n'
    return out + "    {0},\n};\n\n"


def main():
    output, *sources = map(pathlib.Path, sys.argv[1:])
    lists = []
    items = []
    for source in sources:
        text = source.read_text(encoding="utf-8")
        preset = parsed(text)
        lists.append(c_lists(source.stem, take_lists(preset)))
        items.append(
            f'    {{"{source.stem}",\n{c_string(summary_of(source, text))},\n     SLICE(\n{c_string(text)}),\n'
            f"     {source.stem}_lists,\n{c_string(tokens(preset))}}},\n"
        )
    output.write_text(
        '/* Made from share/presets by tools/embed-presets.py. */\n#include "policy/preset.h"\n\n'
        + "".join(lists) + "const struct preset presets[] = {\n" + "".join(items) + "};\n\n"
        "const size_t preset_count = sizeof(presets) / sizeof(presets[0]);\n",
        encoding="ascii",
    )


main()

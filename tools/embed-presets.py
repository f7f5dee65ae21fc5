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


def without_comments(text):
    """The same policy in as few bytes as it takes: every run reads it, and none reads the comments."""
    plain = re.sub(r'("(?:[^"\\\\]|\\\\.)*")|//[^\n]*|/\*.*?\*/', lambda match: match.group(1) or "", text, flags=re.S)
    return json.dumps(json.loads(plain), separators=(",", ":"), ensure_ascii=False)


def main():
    output, *sources = map(pathlib.Path, sys.argv[1:])
    items = []
    for source in sources:
        text = source.read_text(encoding="utf-8")
        items.append(
            f'    {{"{source.stem}",\n{c_string(summary_of(source, text))},\n     SLICE(\n{c_string(text)}),\n'
            f"     SLICE(\n{c_string(without_comments(text))})}},\n"
        )
    output.write_text(
        '/* Made from share/presets by tools/embed-presets.py. */\n#include "policy/preset.h"\n\n'
        "const struct preset presets[] = {\n" + "".join(items) + "};\n\n"
        "const size_t preset_count = sizeof(presets) / sizeof(presets[0]);\n",
        encoding="ascii",
    )


main()

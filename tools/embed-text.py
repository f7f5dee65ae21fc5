#!/usr/bin/env python3
"""Turns a text file into a C file with one slice: embed-text.py INPUT OUTPUT NAME"""
import pathlib
import sys


def literal(line):
    escapes = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"}
    return "".join(escapes.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in line.encode())


def main():
    source, output, name = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    lines = "\n".join(f'    "{literal(line)}"' for line in source.read_text(encoding="utf-8").splitlines(keepends=True))
    output.write_text(
        f"/* Made from {source.name} by tools/embed-text.py. */\n#include \"base/slice.h\"\n\n"
        f"extern const struct slice {name};\nconst struct slice {name} = SLICE(\n{lines});\n",
        encoding="utf-8",
    )


main()

#!/usr/bin/python3
"""Plays the rows of srt_rows.py with the real srt, and writes what came of them to srt_rows.json, which is committed.
As root, who makes the network; srt runs as an ordinary user. Run it again only when rows are added or another version
is to be followed:

    npm install --ignore-scripts --force @anthropic-ai/sandbox-runtime@0.0.83
    tests/compat/record_srt_rows.py node_modules/@anthropic-ai/sandbox-runtime [PART OF A ROW'S NAME]"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from conftest import Person  # noqa: E402
from remote_world import ORDINARY_UID, new_world  # noqa: E402
from srt_rows import ROWS, Stage, scenery  # noqa: E402

RECORD = pathlib.Path(__file__).with_name("srt_rows.json")


def main(package, part=""):
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    cli = pathlib.Path(package, "dist", "cli.js").resolve()
    with tempfile.TemporaryDirectory(prefix="srt-rows-", dir="/home") as directory, new_world() as world:
        top = pathlib.Path(directory)
        top.chmod(0o755)
        os.chown(top, ORDINARY_UID, ORDINARY_UID)
        person = Person(ORDINARY_UID, top, None)
        with scenery(world, top):
            for number, row in enumerate(row for row in ROWS if part in row.id):
                stage = Stage(row, person, top / str(number), top)
                ran = world.run(person, shutil.which("node"), cli, *stage.words, cwd=stage.work / row.cwd, environment=stage.environment)
                recorded[row.id] = {**stage.result(ran.returncode, ran.stdout), "stderr": ran.stderr[:300] if ran.returncode else ""}
                print(row.id, recorded[row.id], file=sys.stderr)
    RECORD.write_text(json.dumps({row.id: recorded[row.id] for row in ROWS if row.id in recorded}, indent=1) + "\n")


main(*sys.argv[1:])

"""Logs made by hand, as cloche writes them."""

import hashlib
import json

RUN = "1a2b3c4d5e6f7081"
OTHER_RUN = "ffeeddccbbaa9988"


def event(kind="fs.write", object_="/etc/x", time="2026-11-15T08:30:00.123Z", run=RUN, verdict="denied", op="openat", **more):
    return {"time": time, "run": run, "kind": kind, "op": op, "object": object_, "verdict": verdict, **more}


def start(command="make all", project="/home/ada/shop", **more):
    return event("run", command, op="start", verdict="observed", **{"pid": 1, "project": project, "policy": ["preset:dev"],
                                                                    "version": "0.1.0", **more})


def end(**more):
    return event("run", "make all", op="end", verdict="observed", **{"status": 0, "ms": 4000, "denied": 1, **more})


def lines(*events):
    return "".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False) + "\n" for each in events)


def chained(*events, before=""):
    """The same with violation.chain."""
    text = ""
    for each in events:
        plain = json.dumps(each, separators=(",", ":"), ensure_ascii=False)
        before = hashlib.sha256((before + plain).encode()).hexdigest()
        text += f'{plain[:-1]},"chain":"{before}"}}\n'
    return text, before

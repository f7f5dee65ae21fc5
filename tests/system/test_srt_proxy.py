"""The two proxies answer as those of srt do, word for word, as recorded in
tests/compat/srt_proxy.json. Run as `srt`, with the settings of the record."""

import itertools
import json
import pathlib

import pytest

from remote_world import SERVER_V4

RECORD = json.loads((pathlib.Path(__file__).resolve().parents[1] / "compat" / "srt_proxy.json").read_text())
TOLD = ("content-type", "x-proxy-error", "proxy-authenticate")

# Plays all of it inside: each request, and what came back until the end or until nothing came for a while.
PLAYER = """
import base64, json, os, socket, sys, urllib.parse

url = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
user, token = urllib.parse.unquote(url.username), url.password
LOGIN = "Proxy-Authorization: Basic " + base64.b64encode(f"{user}:{token}".encode()).decode() + "\\r\\n"


def received(connection, patience):
    connection.settimeout(patience)
    parts = b""
    try:
        while more := connection.recv(65536):
            parts += more
    except OSError:
        pass
    return parts


for case in json.load(open(sys.argv[1])):
    with socket.create_connection(("localhost", 3128 if "request" in case else 1080), 10) as connection:
        if "request" in case:
            connection.sendall(case["request"].replace("LOGIN", LOGIN).replace("LONG", "x" * 70000).encode("latin-1"))
            connection.shutdown(socket.SHUT_WR)  # or a connection that goes on is waited for
            print(json.dumps(received(connection, 5).decode("latin-1")))
            continue
        replies = []
        for message in case["messages"]:
            connection.sendall(bytes.fromhex(message.replace("TOKEN", token.encode().hex())))
            connection.settimeout(5)
            reply = connection.recv(1000)
            replies.append(reply.hex())
        print(json.dumps(replies))
"""


@pytest.fixture(scope="module")
def site(world):
    world.names.add("site.test", SERVER_V4)
    world.names.add("rebound.test", "127.0.0.9")
    world.names.add("listed.test", "10.1.2.3")
    return world.web((SERVER_V4, RECORD["port"]))


def played(world, person, cases, options):
    """What each case gets."""
    settings = person.file(person.base / "settings.json", {
        "network": {**RECORD["network"], **options}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}})
    player = person.file("player.py", PLAYER)
    file = person.file("cases.json", cases)
    answer = world.run(person, person.binaries / "srt", "-s", settings, "--", "/usr/bin/python3", player, file, seconds=120)
    assert answer.returncode == 0, answer
    return [json.loads(line) for line in answer.stdout.splitlines()]


def all_of(world, person, kind):
    key = lambda case: json.dumps(case["options"])  # noqa: E731
    for _, group in itertools.groupby(sorted(RECORD[kind], key=key), key):
        cases = list(group)
        answers = played(world, person, cases, cases[0]["options"])
        assert len(answers) == len(cases)
        yield from zip(cases, answers)


def understood(answer):
    head, _, body = answer.partition("\r\n\r\n")
    status, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return status, {name: value for name, value in headers.items() if name in TOLD}, body


def test_the_http_proxy_refuses_in_the_words_of_srt(world, person, site):
    wrong = []
    for case, answer in all_of(world, person, "http"):
        expected = case["answer"]
        status, headers, body = understood(answer)
        if "ours" in case:
            expected = {"status": case["ours"]["status"]}
        elif expected["status"].startswith(("HTTP/1.1 400", "HTTP/1.1 431")):
            expected = {"status": expected["status"]}  # srt says nothing more; we say what is wrong
        elif expected["status"].startswith("HTTP/1.1 200"):
            expected = {"status": expected["status"]}  # what is let through is another server's
            status = status.replace("HTTP/1.0", "HTTP/1.1")
        found = {"status": status, "headers": headers, "body": body}
        if expected != {name: found[name] for name in expected}:
            wrong.append((case["name"], expected, found))
    assert not wrong


def test_the_origin_is_asked_as_srt_asks_it(world, person, site):
    let_through = [case for case in RECORD["http"] if case["forwarded"] and "ours" not in case]
    assert len(let_through) > 5
    for case in let_through:
        site.requests.clear()
        played(world, person, [case], case["options"])
        assert len(site.requests) == 1, case["name"]
        method, path, headers, body = site.requests[0]
        ours = {name.lower(): value for name, value in headers.items() if name.lower() != "connection"}
        expected = case["forwarded"][0]
        assert (f"{method} {path}", ours) == (expected["line"], expected["headers"]), case["name"]
        if "content-length" in ours:
            assert body.decode() == expected["body"]


def test_the_socks_proxy_replies_as_srt_replies(world, person, site):
    wrong = []
    for case, replies in all_of(world, person, "socks"):
        expected = case.get("ours", case)["replies"]
        if replies != expected:
            wrong.append((case["name"], expected, replies))
    assert not wrong

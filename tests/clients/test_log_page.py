"""The page of a run, opened in a real browser."""

import html
import re
import shutil
import socket
import subprocess
import threading
import zlib

import pytest

from logging_back import RUN, end, event, lines, start

PAPER = bytes.fromhex("f6f5f2")


@pytest.fixture
def browser(tmp_path):
    def open_page(page, *options):
        words = [shutil.which("chromium") or shutil.which("chromium-browser"), "--headless=new", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", f"--user-data-dir={tmp_path}/profile", "--virtual-time-budget=2000", *options]
        return subprocess.run([*words, f"file://{page}"], capture_output=True, text=True, timeout=60, check=True).stdout
    return open_page


class Listener:
    """Nobody may come here. Keeps what was asked for, and answers nothing."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.asked = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection = self.server.accept()[0]
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                try:
                    self.asked.append(connection.recv(1000))
                except OSError:
                    self.asked.append(b"")


@pytest.fixture
def listener():
    listener = Listener()
    yield listener
    listener.server.shutdown(socket.SHUT_RDWR)
    listener.server.close()


def hostile(listener):
    address = listener.address
    return (f"</code></td></style></title></svg>\"'><script>document.title='owned'</script><img src={address}/i "
            f"onerror=\"document.title='owned'\"><style>@import '{address}/s';body{{display:none}}</style>"
            f"<meta http-equiv=refresh content='0;{address}/r'><base href={address}/><iframe src={address}/f></iframe>")


def story(name):
    """A run in which whatever can be named is called so."""
    rule = {"file": name, "path": name}
    more = {"errno": name, "program": name, "parent": {"pid": 1, "program": name}, "reason": name, "rule": rule, "hint": name}
    return lines(start(command=name, project=name, policy=[name], version=name),
                 event(object_=name, op=name, **more), event("net.connect", name, op=name, protocol=name, **more),
                 event("net.connect", name, op=name, protocol=name, verdict="allowed"),
                 event(object_=name, op=name, program=name, verdict="observed"),
                 event("exec.later", name, verdict="observed", reason=name), end())


def made(person, text, *options):
    person.file("log.jsonl", text)
    answer = person.cloche("log", "--html", "page.html", *options, "log.jsonl")
    assert answer.returncode == 0, answer
    return person.project / "page.html"


def visible(dom):
    """The text of the page, tags gone."""
    body = dom.split("<body>")[1]
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body)))


def test_the_page_tells_the_run(person, browser):
    page = made(person, lines(
        start("npm install", "/home/ada/shop"),
        event(object_="/etc/hosts", errno="EROFS", program="/usr/bin/sh", hint="--allow-write /etc/hosts", count=1,
              rule={"file": "built-in", "path": "filesystem.allowWrite"}),
        event("net.connect", "registry.test:443", verdict="allowed", op="connect", protocol="tls", count=1),
        event(object_="/home/ada/shop/x.js", verdict="observed", program="/usr/bin/node"),
        event(object_="/etc/hosts", errno="EROFS", program="/usr/bin/sh", hint="--allow-write /etc/hosts", count=12, folded=True),
        event("net.connect", "registry.test:443", verdict="allowed", op="connect", protocol="tls", count=34, folded=True,
              bytes={"out": 18234, "in": 48230412}), end()))
    dom = browser(page, "--dump-dom")
    assert "<title>cloche: npm install</title>" in dom
    text = visible(dom)
    for told in ("npm install", "/home/ada/shop", RUN, "1 denied (12 times)", "fs.write /etc/hosts ×12", "EROFS", "/usr/bin/sh",
                 "built-in filesystem.allowWrite", "To allow it --allow-write /etc/hosts",
                 "registry.test:443 allowed tls 34 18 kB 48 MB", "/home/ada/shop/x.js openat node 1"):
        assert told in text, told
    assert dom.count("<circle") == 3


def test_hostile_names_do_nothing(person, browser, listener):
    name = hostile(listener)
    page = made(person, story(name))
    dom = browser(page, "--dump-dom")
    assert "owned" not in re.search("<title>(.*?)</title>", dom, re.DOTALL)[1].split("document.title")[0]
    assert not re.search(r"<(script|img|iframe|base)\b", dom) and dom.count("<style") == 1
    assert name in visible(dom)
    assert listener.asked == []


def test_were_a_name_to_slip_through_the_page_still_does_nothing(person, browser, listener):
    """The second lock: the same markup, put in unescaped, meets the Content-Security-Policy."""
    page = made(person, lines(start("plain"), event()))
    text = page.read_text()
    slipped = text.replace("<main>", f"<main><p>{hostile(listener).replace('<meta', '<i')}</p>")
    page.write_text(slipped)
    dom = browser(page, "--dump-dom")
    assert "<title>cloche: plain</title>" in dom and "document.title='owned'" in dom
    # Chromium connects for a frame before it looks at the policy, and then asks for nothing.
    assert not any(listener.asked)
    # The control: without the policy it acts, so that this test can fail.
    page.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", slipped))
    dom = browser(page, "--dump-dom")
    assert "<title>owned</title>" in dom
    assert any(b"GET /" in request for request in listener.asked)


def first_pixel(png):
    """Of the first row nothing is predicted from a neighbour: its first pixel stands as it is."""
    data, at = b"", 8
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        if kind == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    return zlib.decompress(data)[1:4]


def test_our_own_style_is_let_in(person, browser, tmp_path):
    page = made(person, lines(start(), event()))
    browser(page, f"--screenshot={tmp_path}/page.png", "--window-size=600,400", "--hide-scrollbars")
    assert first_pixel((tmp_path / "page.png").read_bytes()) == PAPER
    page.write_text(page.read_text().replace("body { margin: 0; ", "body { margin: 1px; "))
    browser(page, f"--screenshot={tmp_path}/other.png", "--window-size=600,400", "--hide-scrollbars")
    assert first_pixel((tmp_path / "other.png").read_bytes()) == b"\xff\xff\xff"


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_the_page_fits_narrow_and_wide_windows(person, browser, tmp_path, width):
    page = made(person, story("/a/path/of/many/words/" + "long" * 60 + "/x y"))
    frame = tmp_path / "frame.html"
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    frame.write_text(f"<iframe width={width} height=900 srcdoc=\"{html.escape(text)}\"></iframe><script>onload = () => {{ "
                     "document.title = document.querySelector('iframe').contentDocument.documentElement.scrollWidth }</script>")
    frame.parent.chmod(0o755)
    title = re.search(r"<title>(\d+)</title>", browser(frame, "--dump-dom"))
    assert title and int(title[1]) <= width

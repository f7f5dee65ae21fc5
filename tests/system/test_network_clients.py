"""Programs that people use every day, against servers of the test's own: with the host
allowed they work without any configuration, without it they fail at once."""

import os
import subprocess
import time

import pytest

from git_server import Git
from remote_world import SERVER_V4, publish_npm_package, publish_python_package, python


@pytest.fixture(scope="module")
def repository(world, site):
    root = world.directory / "git"
    work = root / "work"
    work.mkdir(parents=True)
    git = ["git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", work], check=True)
    (work / "file").write_bytes(os.urandom(300000))
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", work, root / "project.git"], check=True)
    port = world.port()
    for server in (world.web((SERVER_V4, port)), world.web((SERVER_V4, port + 1000), tls=["site.test"])):
        server.RequestHandlerClass = Git
        server.root = str(root)
    return f"http://site.test:{port}/project.git", f"https://site.test:{port + 1000}/project.git", work / "file"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("variables", ["with", "without"])
def test_git_clones(go, world, person, repository, scheme, variables):
    url = repository[scheme == "https"]
    authority = world.certificates / "authority.pem"
    drop = "unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy ALL_PROXY all_proxy; " if variables == "without" else ""
    answer = go("sh", "-c", f"{drop}git -c http.sslCAInfo={authority} clone -q {url} copy", options=["--allow-read", authority])
    assert answer.returncode == 0, answer
    assert (person.project / "copy/file").read_bytes() == repository[2].read_bytes()
    started = time.monotonic()
    answer = go("git", "clone", "-q", url, "other", allow=["packages.test"])
    assert answer.returncode == 128 and time.monotonic() - started < 5, answer
    assert not (person.project / "other").exists()


def test_npm_installs_from_a_registry(go, world, person, site):
    publish_npm_package(site, "thing")
    person.file("package.json", {"name": "user", "version": "1.0.0"})
    install = ["npm", "install", "--no-audit", "--no-fund", "--registry", "http://packages.test/", "--fetch-retries=0", "thing"]
    answer = go(*install, allow=["packages.test"], seconds=120)
    assert answer.returncode == 0, answer
    assert (person.project / "node_modules/thing/index.js").read_text() == "module.exports = 42\n"
    started, asked = time.monotonic(), len(site.requests)
    assert go(*install[:-1], "other", allow=["site.test"], seconds=120).returncode != 0
    assert time.monotonic() - started < 20 and len(site.requests) == asked


def test_pip_downloads_from_an_index(go, world, person, site):
    wheel = publish_python_package(site, "thing")
    words = ["/usr/bin/python3", "-m", "pip", "--disable-pip-version-check", "--retries", "0", "download", "-q", "--no-deps",
             "-i", "http://packages.test/simple/", "--trusted-host", "packages.test", "thing"]
    answer = go(*words, allow=["packages.test"])
    assert answer.returncode == 0, answer
    assert (person.project / "thing-1.0-py3-none-any.whl").read_bytes() == wheel
    started, asked = time.monotonic(), len(site.requests)
    assert go(*words, "-d", "elsewhere").returncode == 1
    assert time.monotonic() - started < 20 and len(site.requests) == asked


def test_node_speaks_https(go, world):
    authority = world.certificates / "authority.pem"
    script = """
        require('https').get('https://site.test/x', r => r.on('data', d => process.stdout.write(d)))
        fetch('https://site.test/y').then(r => r.text()).then(t => process.stdout.write(t))
        """
    answer = go("node", "-e", script, options=["--allow-read", authority, "--env", f"NODE_EXTRA_CA_CERTS={authority}"])
    assert sorted(answer.stdout.splitlines()) == ["page /x of site.test", "page /y of site.test"], answer


def test_asyncio_opens_fifty_connections_at_once(go):
    answer = go(*python("""
        import asyncio
        async def page(number):
            reader, writer = await asyncio.open_connection("site.test", 80)
            writer.write(b"GET /%d HTTP/1.1\\r\\nHost: site.test\\r\\nConnection: close\\r\\n\\r\\n" % number)
            return b"page /%d of" % number in await reader.read()
        async def main():
            print(sum(await asyncio.gather(*(page(i) for i in range(50)))))
        asyncio.run(main())
        """))
    assert answer.stdout == "50\n", answer


def test_a_client_that_waits_for_many_with_epoll_is_carried(go):
    answer = go(*python("""
        import select, socket
        waiting, sockets = select.epoll(), {}
        for address in socket.getaddrinfo("site.test", 80, type=socket.SOCK_STREAM) * 20:
            s = socket.socket(address[0], address[1] | socket.SOCK_NONBLOCK)
            s.connect_ex(address[4])
            waiting.register(s, select.EPOLLOUT | select.EPOLLET)
            sockets[s.fileno()] = s
        pages = 0
        while pages < len(sockets):
            for fd, event in waiting.poll(10):
                if event & select.EPOLLOUT:
                    sockets[fd].send(b"GET /x HTTP/1.1\\r\\nHost: site.test\\r\\n\\r\\n")
                    waiting.modify(fd, select.EPOLLIN | select.EPOLLET)
                else:
                    pages += b" 200 " in sockets[fd].recv(1000)
        print(pages)
        """))
    assert answer.stdout.strip() in ("20", "40"), answer


def test_names_can_be_looked_up_backwards_and_by_every_library(go):
    answer = go("sh", "-c", "getent ahostsv4 site.test | head -n 1 | cut -d' ' -f1; "
                            "getent hosts $(getent ahostsv4 site.test | head -n 1 | cut -d' ' -f1); "
                            "node -e \"require('dns').resolve4('site.test', (e, a) => console.log(a[0]))\"; "
                            "getent hosts other.test; echo $?")
    lines = answer.stdout.split("\n")
    assert lines[0].startswith("198.1") and lines[1].split() == [lines[0], "site.test"] and lines[2] == lines[0], answer
    assert lines[3] == "2"

"""Heavier programs on a filtered network, against real servers in the test's own world.
scripts/setup clients installs them."""

import os
import pathlib
import pwd
import shutil
import subprocess
import textwrap
import time

import pytest

from remote_world import OTHER_V4, SERVER_V4

POSTGRES = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1:]


@pytest.fixture
def refused(go):
    """The same without the host being allowed: it fails, and at once."""
    def run(*command, **keywords):
        started = time.monotonic()
        answer = go(*command, allow=["nothing.test"], **keywords)
        assert answer.returncode not in (0, 125) and time.monotonic() - started < 10, answer
        return answer
    return run


def built(person, name, text, *compiler):
    """A program of the person's, compiled outside."""
    source = person.file(f"build/{name}", textwrap.dedent(text))
    subprocess.run([*compiler, source.name], cwd=source.parent, check=True, timeout=300, stdout=subprocess.DEVNULL,
                   env={"PATH": os.environ["PATH"], "HOME": str(source.parent), "GOCACHE": "/tmp/cloche-go-cache",
                        "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"})
    return source.parent


SSH = "ssh -F none -i {project}/key -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o ControlMaster=no -o LogLevel=ERROR"


@pytest.fixture
def ssh_server(world, person):
    """sshd for this person's key; whoever logs in may do what he likes."""
    directory = world.directory / f"ssh-{world.port()}"
    directory.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / "host"], check=True)
    key = person.file("key", "")
    key.unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    for file in (key, key.with_suffix(".pub")):
        person.own(file)
    (directory / "authorized").write_text(key.with_suffix(".pub").read_text())
    port = world.port()
    (directory / "config").write_text(f"ListenAddress {SERVER_V4}:{port}\nHostKey {directory}/host\nPidFile none\nUsePAM no\n"
                                      f"AuthorizedKeysFile {directory}/authorized\nStrictModes no\nPermitRootLogin yes\n")
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    with world.program((SERVER_V4, port), "/usr/sbin/sshd", "-D", "-e", "-f", directory / "config"):
        yield port


def test_ssh_and_git_over_ssh(go, refused, world, person, ssh_server):
    ssh = SSH.format(project=person.project)
    words = [*ssh.split(), "-p", str(ssh_server), "root@site.test"]
    assert go(*words, "echo over there").stdout == "over there\n"
    refused(*words, "true")
    answer = go(*words[:-1], f"root@{OTHER_V4}", "true")
    assert answer.returncode == 255 and "not on the allow list" in answer.stderr, answer
    root = world.directory / f"work-{ssh_server}"
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"],
                   check=True)
    answer = go("git", "clone", "-q", f"ssh://root@site.test:{ssh_server}{root}", "copy",
                options=["--env", f"GIT_SSH_COMMAND={ssh}"])
    assert answer.returncode == 0 and (person.project / "copy/.git").is_dir(), answer


def test_a_client_linked_with_musl(go, refused, person):
    place = built(person, "client.c", r"""
        #include <netdb.h>
        #include <stdio.h>
        #include <sys/socket.h>
        #include <unistd.h>
        int main(void)
        {
            struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *found;
            int error = getaddrinfo("site.test", "80", &wanted, &found);
            if (error)
                return puts(gai_strerror(error)), 2;
            int fd = socket(found->ai_family, found->ai_socktype, 0);
            if (connect(fd, found->ai_addr, found->ai_addrlen))
                return 3;
            static const char request[] = "GET /x HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n";
            char text[4096];
            ssize_t length = write(fd, request, sizeof request - 1);
            while ((length = read(fd, text, sizeof text)) > 0)
                fwrite(text, 1, (size_t)length, stdout);
        }
        """, "musl-gcc", "-static", "-o", "client")
    assert "page /x of site.test" in go(place / "client").stdout
    assert "Name does not resolve" in refused(place / "client").stdout


def test_java(go, refused, person):
    place = built(person, "Client.java", r"""
        import java.io.*;
        import java.net.*;
        import java.net.http.*;
        public class Client {
            public static void main(String[] words) throws Exception {
                HttpClient client = HttpClient.newHttpClient();
                HttpRequest request = HttpRequest.newBuilder(URI.create("http://site.test/x")).build();
                System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
                try (Socket socket = new Socket("site.test", 80)) {
                    socket.getOutputStream().write("GET /y HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n".getBytes());
                    System.out.print(new String(socket.getInputStream().readAllBytes()).split("\r\n\r\n")[1]);
                }
            }
        }
        """, "javac", "-d", ".")
    words = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", place, "Client"]
    assert go(*words).stdout == "page /x of site.test\npage /y of site.test\n"
    assert "ConnectException" in refused(*words).stderr


def test_go(go, refused, person):
    place = built(person, "client.go", r"""
        package main
        import ("fmt"; "io"; "net"; "net/http"; "os")
        func main() {
            answer, err := http.Get("http://site.test/x")
            if err != nil { fmt.Println(err); os.Exit(2) }
            body, _ := io.ReadAll(answer.Body)
            fmt.Print(string(body))
            if answer.StatusCode != 200 { os.Exit(3) }
            connection, err := net.Dial("tcp", "site.test:80")
            if err != nil { fmt.Println(err); os.Exit(4) }
            fmt.Fprintf(connection, "GET /y HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n")
            rest, _ := io.ReadAll(connection)
            fmt.Print(string(rest))
        }
        """, "go", "build", "-o", "client")
    answer = go(place / "client")
    assert answer.stdout.startswith("page /x of site.test\n") and answer.stdout.endswith("page /y of site.test\n"), answer
    without = ["env", "-u", "HTTP_PROXY", "-u", "http_proxy", place / "client"]
    assert go(*without).stdout.startswith("page /x of site.test\n")
    refused(place / "client")
    assert "no such host" in refused(*without).stdout


def test_psql(go, refused, world, person):
    user = pwd.getpwnam("postgres")
    data = world.directory / f"postgres-{world.port()}"
    data.mkdir()
    os.chown(data, user.pw_uid, user.pw_gid)
    port = world.port()
    subprocess.run(["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups",
                    POSTGRES[0] / "initdb", "-D", data, "-A", "trust", "--no-sync"], check=True, cwd="/", stdout=subprocess.DEVNULL)
    with (data / "pg_hba.conf").open("a") as access:
        access.write("host all all 0.0.0.0/0 trust\n")
    query = ["psql", "-h", "site.test", "-p", port, "-U", "postgres", "-Atc", "select sum(n) from generate_series(1, 1000) n"]
    with world.program((SERVER_V4, port), POSTGRES[0] / "postgres", "-D", data, "-h", SERVER_V4, "-p", port, "-k", data,
                       "-c", "fsync=off", user=user.pw_uid):
        answer = go(*query)
        assert answer.stdout == "500500\n", answer
        refused(*query)


def test_redis(go, refused, world):
    port = world.port()
    with world.program((SERVER_V4, port), "redis-server", "--bind", SERVER_V4, "--port", port, "--save", "", "--protected-mode", "no"):
        words = ["redis-cli", "-h", "site.test", "-p", port]
        assert go(*words, "SET", "key", "value").stdout == "OK\n"
        assert go(*words, "GET", "key").stdout == "value\n"
        assert go("sh", "-c", f"yes PING | head -n 5000 | redis-cli -h site.test -p {port} --pipe").returncode == 0
        refused(*words, "PING")


def test_http2(go, refused, world, person, site):
    certificate, key = world.certificate(["site.test"])
    server = world.directory / "http2.js"
    server.write_text(textwrap.dedent(f"""
        const server = require('http2').createSecureServer({{
            cert: require('fs').readFileSync('{certificate}'), key: require('fs').readFileSync('{key}')}})
        server.on('stream', (stream, headers) => {{
            stream.respond({{':status': 200}}); stream.end('page ' + headers[':path'] + ' over two\\n') }})
        server.listen(PORT, '{SERVER_V4}')
        """))
    port = world.port()
    server.write_text(server.read_text().replace("PORT", str(port)))
    authority = world.certificates / "authority.pem"
    with world.program((SERVER_V4, port), "node", server):
        for direct in ([], ["--noproxy", "*"]):
            answer = go("curl", "-sS", "--http2", "--cacert", authority, *direct, f"https://site.test:{port}/a",
                        f"https://site.test:{port}/b", "-w", "%{http_version}\n", options=["--allow-read", authority])
            assert answer.stdout == "page /a over two\n2\npage /b over two\n2\n", answer
            refused("curl", "-sS", "--http2", "--cacert", authority, *direct, f"https://site.test:{port}/a",
                    options=["--allow-read", authority])


def test_a_browser_shows_a_page(go, world, person, site):
    site.content["/page"] = b"<html><body><script>fetch('/data').then(r => r.text()).then(t => document.title = t)</script></body></html>"
    site.content["/data"] = b"fetched"
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    words = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=/tmp/profile",
             "--virtual-time-budget=4000", "--dump-dom"]
    answer = go(*words, "http://site.test/page", seconds=180)
    assert "<title>fetched</title>" in answer.stdout, answer
    answer = go(*words, "http://other.test/page", seconds=180)
    assert "fetched" not in answer.stdout, answer

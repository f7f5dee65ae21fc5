"""Repositories over HTTP, by git's own program."""

import contextlib
import http.server
import os
import subprocess
import threading
import urllib.parse

from remote_world import Pages


class Git(Pages):
    """Smart HTTP, by git's own program."""

    def _reply(self):
        url = urllib.parse.urlsplit(self.path)
        environment = {"GIT_PROJECT_ROOT": self.server.root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": url.path,
                       "QUERY_STRING": url.query, "REQUEST_METHOD": self.command, "PATH": os.environ["PATH"],
                       "CONTENT_TYPE": self.headers.get("Content-Type", ""), "GIT_CONFIG_COUNT": "1",
                       "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding"):
            environment["HTTP_CONTENT_ENCODING"] = self.headers["Content-Encoding"]
        answer = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().splitlines():
            self.send_header(*line.split(": ", 1))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _reply


@contextlib.contextmanager
def git_server(root):
    """Serves what is below `root` on a port of the host's loopback; the port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Git) as server:
        server.root = str(root)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()

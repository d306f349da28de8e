"""Show the built pages on this machine: 127.0.0.1 only, at port 8000 or a free one."""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HTML = Path(__file__).resolve().parent.parent / "_build" / "html"
HOST, PORT = "127.0.0.1", 8000


class Quiet(SimpleHTTPRequestHandler):
    """No line for each request; nothing stored by the browser, which would show the old build."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


class Server(ThreadingHTTPServer):
    # Another server's port must not be shared, and 0 then asks for any free one.
    allow_reuse_address = False


def server(folder: Path = HTML, port: int = PORT) -> Server:
    handler = partial(Quiet, directory=str(folder))
    try:
        return Server((HOST, port), handler)
    except OSError:
        return Server((HOST, 0), handler)


def main() -> int:
    if not (HTML / "index.html").exists():
        print("nothing is built yet: make book", file=sys.stderr)
        return 1
    with server() as running:
        address = f"http://{HOST}:{running.server_port}/index.html"
        print(f"the book: {address}   (Ctrl+C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

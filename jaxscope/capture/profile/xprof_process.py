"""The process of `XProfServer`: XProf on 127.0.0.1, below a secret path, until the kernel is gone.

Run as a file, so that it imports nothing of jaxscope. The first line of stdin is JSON:
`{"logdir": "…", "port": 5000, "token": "…", "hosts": ["127.0.0.1:5000"]}`. A path begins with the
token, as a proxy's would with its prefix; a page of XProf asks for everything below its own path.
"""

from __future__ import annotations

import hmac
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_POLL_S = 1.0


def guarded(app: App, token: str, hosts: Sequence[str] | None) -> App:
    """The application below `/token`; with `hosts`, for these values of the Host header only.

    A page of another site can name this server by a host of its own (DNS rebinding), and another
    user of the machine can reach the port: neither has the token.
    """

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = str(environ.get("PATH_INFO", ""))
        first, slash, rest = path.removeprefix("/").partition("/")
        known = hmac.compare_digest(first.encode("utf-8", "replace"), token.encode())
        if not known or (hosts is not None and environ.get("HTTP_HOST") not in hosts):
            start("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"Open the address that jaxscope printed."]

        def answer(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            # The pages load charts from elsewhere, which must not learn the path.
            return start(status, [*headers, ("Referrer-Policy", "no-referrer")], *error)

        inner = {**environ, "PATH_INFO": slash + rest}
        inner["SCRIPT_NAME"] = f"{environ.get('SCRIPT_NAME', '')}/{first}"
        return app(inner, answer)

    return application


def end_with(parent: int, logdir: str) -> None:
    """End this process and remove its files once its parent is gone, killed or not.

    Stdin ends with the parent, unless a process that the parent forked holds it open.
    """

    def end() -> None:
        shutil.rmtree(logdir, ignore_errors=True)
        os._exit(0)

    def read() -> None:
        sys.stdin.read()
        end()

    def poll() -> None:
        waiting = threading.Event()
        while os.getppid() == parent:
            waiting.wait(_POLL_S)
        end()

    for look in (read, poll):
        threading.Thread(target=look, daemon=True).start()


def main() -> None:
    """Serve until the kernel is gone."""
    given = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal, meant for the kernel
    end_with(given["parent"], given["logdir"])
    from cheroot import wsgi  # pyright: ignore[reportMissingImports]

    bind = wsgi.Server.__init__

    def bind_here(self: Any, address: tuple[str, int], app: App, *rest: Any, **named: Any) -> None:
        guard = guarded(app, given["token"], given["hosts"])
        bind(self, ("127.0.0.1", address[1]), guard, *rest, **named)

    wsgi.Server.__init__ = bind_here  # pyright: ignore[reportAttributeAccessIssue]
    from xprof import server  # pyright: ignore[reportMissingImports]
    from xprof.convert import _pywrap_profiler_plugin  # pyright: ignore

    # For workers on other machines; it listens on all interfaces.
    _pywrap_profiler_plugin.start_grpc_server = lambda *_: None
    server.main(
        ["--logdir", given["logdir"], "--port", str(given["port"]), "--hide_capture_profile_button"]
    )


if __name__ == "__main__":
    main()

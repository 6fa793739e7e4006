"""A TCP address before a server, which can be shut, or accept and say nothing."""

import socket
import threading
from contextlib import suppress


class Gateway:
    """Passes connections on to ``target`` (``http://host:port``) until it is made to fail."""

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self._target = (host, int(port))
        self._open: list[socket.socket] = []
        self._silent = False
        self.port = 0
        self.open()

    def open(self) -> None:
        """Pass on, at first and after `shut`; on the same port."""
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def silence(self) -> None:
        """Accept, and say nothing; what was open ends."""
        self._silent = True
        self._cut()

    def speak(self) -> None:
        """Pass on again."""
        self._silent = False
        self._cut()

    def shut(self) -> None:
        """Refuse; what was open ends."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._cut()

    def _cut(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            self._open.append(client)
            if not self._silent:
                store = socket.create_connection(self._target)
                self._open.append(store)
                for one, other in ((client, store), (store, client)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_RDWR)

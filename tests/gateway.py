"""A TCP address before a server, which can be shut, accept and say nothing, or lose connections."""

import socket
import threading
from contextlib import suppress
from pathlib import Path


class Gateway:
    """Passes connections on to ``target``, ``http://host:port`` or a socket in the file system,
    until it is made to fail."""

    def __init__(self, target: str | Path) -> None:
        self._target = target
        self._open: list[socket.socket] = []
        self._silent = False
        self._last_words: bytes | None = None
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
        self.cut()

    def speak(self) -> None:
        """Pass on again."""
        self._silent = False
        self.cut()

    def lead_to(self, target: str | Path) -> None:
        """Pass new connections on to another; those that are open stay where they are."""
        self._target = target

    def shut(self) -> None:
        """Refuse; what was open ends."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def cut_after(self, words: bytes | None) -> None:
        """From now on a connection ends when a client has said this: it is passed on, and the
        answer gets lost. None: no more."""
        self._last_words = words

    def cut(self) -> None:
        """End every connection that is open."""
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
                try:
                    store = self._reach()
                except OSError:
                    client.close()
                    continue
                self._open.append(store)
                for one, other in ((client, store), (store, client)):
                    pair = (one, other, one is client)
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _reach(self) -> socket.socket:
        if isinstance(self._target, str):
            host, _, port = self._target.removeprefix("http://").partition(":")
            return socket.create_connection((host, int(port)))
        store = socket.socket(socket.AF_UNIX)
        store.connect(str(self._target))
        return store

    def _pass_on(self, one: socket.socket, other: socket.socket, is_client: bool) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
                if is_client and self._last_words is not None and self._last_words in data:
                    one.shutdown(socket.SHUT_RDWR)
                    break
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

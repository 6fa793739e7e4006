"""The stores beside the servers that can be made to fail: Redis, a bucket, a disk, PostgreSQL."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.conformance.conftest import new_bucket
from tests.gateway import Gateway
from tests.servers import free_port, redis_server
from tests.waiting import eventually

DISK_BYTES = 48 * 2**20
DISK_STEP_BYTES = 64 * 1024


class Redis:
    """A Redis server of its own, which stores nothing on disk."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self._home = home
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [redis_server(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""],
            cwd=self._home,
            stdout=subprocess.DEVNULL,
        )
        eventually(lambda: self.say("PING") == b"+PONG", what="the start of Redis")

    def flush(self) -> None:
        assert self.say("FLUSHALL") == b"+OK"

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def say(self, command: str) -> bytes:
        """What it answers; nothing when it is not there."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(f"{command}\r\n".encode())
                return connection.recv(100).strip()
        except OSError:
            return b""


class Bucket:
    """An S3 server in this process behind a gateway; credentials are in the environment."""

    def __init__(self) -> None:
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each call
        os.environ.update(
            AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_EC2_METADATA_DISABLED="true"
        )
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        self.gateway = Gateway(endpoint)
        reached = f"http://127.0.0.1:{self.gateway.port}"
        self.url = new_bucket(endpoint).replace(endpoint, reached)

    def fail(self, how: str, seconds: float) -> None:
        """It refuses connections, or accepts them and says nothing."""
        if how == "refuses":
            self.gateway.shut()
            time.sleep(seconds)
            self.gateway.open()
        else:
            self.gateway.silence()
            time.sleep(seconds)
            self.gateway.speak()

    def stop(self) -> None:
        self.gateway.shut()
        self._server.stop()


class Disk:
    """A small file system in memory, mounted on a folder; only root can have one."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self.folder = folder
        size = f"size={DISK_BYTES},mode=700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "chaos", str(folder)], check=True)

    def fill(self, seconds: float) -> None:
        """Leave no byte free, also of what is freed meanwhile."""
        ballast = self.folder / "ballast"
        until = time.monotonic() + seconds
        with ballast.open("wb", buffering=0) as filled:
            while time.monotonic() < until:
                try:
                    filled.write(b"\0" * DISK_STEP_BYTES)
                except OSError:
                    time.sleep(0.05)
        ballast.unlink()
        room = os.statvfs(self.folder)
        used = (room.f_blocks - room.f_bfree) * room.f_frsize
        size = f"remount,size={used + DISK_BYTES}"  # a long run stores more than one disk holds
        subprocess.run(["mount", "-o", size, str(self.folder)], check=True)

    def stop(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


def can_mount() -> bool:
    """Whether a disk can be made here, tried by making one."""
    if os.getuid() != 0 or shutil.which("mount") is None:
        return False
    folder = Path(f"/tmp/chaos-disk-{os.getpid()}")
    try:
        Disk(folder).stop()
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return True

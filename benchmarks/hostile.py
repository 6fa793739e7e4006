"""An attack in a process of its own: beside those who measure, its work would delay them, too."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection

from benchmarks.attacks import ATTACKS, Attack, everything, prepare
from benchmarks.servers import Server

PREPARING_SECONDS = 300.0


class Hostile:
    """The process; `begin` starts the attack."""

    def __init__(self, ours: Connection) -> None:
        self._ours = ours

    def begin(self, server: Server) -> None:
        """Attack that server, with the key that it names, until `prepared` is left."""
        self._ours.send(server)

    def problems(self) -> list[str]:
        """What ended the attack early."""
        return [f"the attack ended: {self._ours.recv()}"] if self._ours.poll() else []


@asynccontextmanager
async def prepared(name: str) -> AsyncIterator[Hostile]:
    """A process that has made its files and waits; it ends with the context. Raises
    `TimeoutError`."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_main, args=(name, theirs), daemon=True)
    process.start()
    try:
        if not await asyncio.to_thread(ours.poll, PREPARING_SECONDS):
            raise TimeoutError("the files of the attack were not made in time")
        ours.recv()
        yield Hostile(ours)
    finally:
        process.terminate()
        await asyncio.to_thread(process.join)


async def _attack(attack: Attack, server: Server) -> None:
    await attack(server)


def _main(name: str, theirs: Connection) -> None:
    prepare(name)
    theirs.send(None)
    attack = ATTACKS.get(name, everything)
    try:
        asyncio.run(_attack(attack, theirs.recv()))
    except Exception as error:
        theirs.send(repr(error))
    else:
        theirs.send("it returned")

"""A pooler in transaction mode, as pgbouncer is: each transaction of a client runs in any free session of the server.

A session returns to the pool when a transaction ends. What the server sends to a session in the pool is lost.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

STARTUP, SSL_REQUEST, GSS_REQUEST = 196_608, 80_877_103, 80_877_104
ANSWERED_BY_READY = b"QS"  # a query, and the Sync that ends a pipeline
IDLE, GOODBYE = b"I", b"X"
REFUSAL = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"  # pgbouncer's


class Session:
    """A connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.client: asyncio.StreamWriter | None = None
        self.unanswered = 0


class TransactionPooler:
    """The pool of one database, with `size` sessions.

    Clients take turns, so that none keeps a session by chance. Their `options` are refused if it is strict, or ignored.
    """

    def __init__(self, folder: Path, database: str, size: int, strict: bool) -> None:
        self.folder, self.database, self.size, self.strict = folder, database, size, strict
        self.free: asyncio.Queue[Session] = asyncio.Queue()
        self.greeting = b""
        self.sessions: list[Session] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def connect(self) -> None:
        """Open the sessions; keep the greeting of one for all clients."""
        for _ in range(self.size):
            reader, writer = await asyncio.open_unix_connection(str(self.folder / ".s.PGSQL.5432"))
            names = f"user\0postgres\0database\0{self.database}\0\0".encode()
            writer.write((len(names) + 8).to_bytes(4) + STARTUP.to_bytes(4) + names)
            self.greeting = b""
            while not self.greeting.endswith(b"Z\0\0\0\5I"):
                self.greeting += b"".join(await _message(reader))
            session = Session(reader, writer)
            self.sessions.append(session)
            self.tasks.append(asyncio.create_task(self._answers(session)))
            self.free.put_nowait(session)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client until it goes."""
        try:
            while int.from_bytes((start := await _packet(reader))[:4]) in (SSL_REQUEST, GSS_REQUEST):
                writer.write(b"N")
            if self.strict and b"\0options\0" in start:
                writer.write(b"E" + (len(REFUSAL) + 4).to_bytes(4) + REFUSAL)
            else:
                writer.write(self.greeting)
                await self._transactions(reader, writer)
        finally:
            writer.close()

    async def _transactions(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what a client sends, each transaction to a free session."""
        session: Session | None = None
        while (sent := await _message(reader))[0] != GOODBYE:
            if session is None or session.client is not writer:
                session = await self.free.get()
                session.client = writer
            session.unanswered += sent[0] in ANSWERED_BY_READY
            session.writer.write(b"".join(sent))

    async def _answers(self, session: Session) -> None:
        """Pass on what the server sends to the client of this moment, if there is one."""
        while True:
            kind, body = await _message(session.reader)
            if session.client is None:
                continue
            session.client.write(kind + body)
            if kind == b"Z":
                session.unanswered -= 1
                if body[4:] == IDLE and not session.unanswered:
                    session.client = None
                    self.free.put_nowait(session)


async def _packet(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)) - 4)


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind, size = await reader.readexactly(1), await reader.readexactly(4)
    return kind, size + await reader.readexactly(int.from_bytes(size) - 4)


@contextmanager
def pooling(folder: Path, database: str, *, size: int = 3, strict: bool = False) -> Iterator[str]:
    """Pool the sessions of a database in a thread; yield the pooler's address.

    `folder` is that of the server's socket.
    """
    ready: Future[int] = Future()
    loop, done = asyncio.new_event_loop(), asyncio.Event()

    async def pool() -> None:
        pooler = TransactionPooler(folder, database, size, strict)
        await pooler.connect()
        server = await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
        ready.set_result(server.sockets[0].getsockname()[1])
        await done.wait()
        server.close()
        for session in pooler.sessions:
            session.writer.close()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(pool())

    thread = Thread(target=run)
    thread.start()
    try:
        yield f"postgresql://postgres@127.0.0.1:{ready.result(10)}/{database}"
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()

"""A DNS server on loopback over UDP. It answers from a zone that a test writes, or with given bytes."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

Answer = Callable[[dns.message.Message], Sequence[bytes]]


@dataclass
class NameServer(asyncio.DatagramProtocol):
    """A DNS server for `async with`. It answers NXDOMAIN until `answer` is set."""

    answer: Answer = field(default_factory=lambda: refusing(dns.rcode.NXDOMAIN))
    asked: list[str] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.transport.close()

    @property
    def place(self) -> tuple[str, int]:
        host, port = self.transport.get_extra_info("sockname")
        return str(host), int(port)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        question = dns.message.from_wire(data)
        self.asked.append(question.question[0].name.to_text())
        for wire in self.answer(question):
            self.transport.sendto(wire, addr)


def refusing(rcode: dns.rcode.Rcode) -> Answer:
    def answer(question: dns.message.Message) -> Sequence[bytes]:
        made = dns.message.make_response(question)
        made.set_rcode(rcode)
        return [made.to_wire()]

    return answer


def saying(*lines: str, whole: int = 65_535) -> Answer:
    """Answer with records in zone-file syntax; `{name}` is the queried name.

    An answer larger than `whole` bytes is truncated as in DNS: no records, and the flag TC.
    """

    def answer(question: dns.message.Message) -> Sequence[bytes]:
        made = dns.message.make_response(question)
        name = question.question[0].name.to_text()
        for line in lines:
            owner, kind, *words = line.format(name=name).split(" ", 2)
            made.answer.append(dns.rrset.from_text(owner, 60, "IN", kind, *words))
        try:
            return [made.to_wire(max_size=whole)]
        except dns.exception.TooBig:
            made.answer.clear()
            made.flags |= dns.flags.TC
            return [made.to_wire()]

    return answer


def sending(*wires: bytes) -> Answer:
    """Answer each query with these bytes. The first two become the query's id."""
    return lambda question: [question.id.to_bytes(2) + wire[2:] if len(wire) > 2 else wire for wire in wires]

"""DNS queries for TXT records, in one bounded datagram each."""

import asyncio
from collections.abc import Sequence

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.resolver
from dns.rdtypes.ANY.TXT import TXT

from tools.engine.ports import Unreachable

TIMEOUT_IN_SECONDS = 5.0
MAX_BYTES = 4096  # of an answer; a longer one is truncated by the server and is not asked for again
MAX_SERVERS = 3

Server = tuple[str, int]


class NameServers:
    """The DNS port over the given name servers, or the system's; they must be recursive."""

    def __init__(
        self, servers: Sequence[Server] | None = None, *, timeout_in_seconds: float = TIMEOUT_IN_SECONDS
    ) -> None:
        self._servers = servers
        self._timeout_in_seconds = timeout_in_seconds

    async def texts(self, name: str) -> list[bytes]:
        try:
            question = dns.message.make_query(
                dns.name.from_text(name), dns.rdatatype.TXT, use_edns=0, payload=MAX_BYTES
            )
        except dns.exception.DNSException:
            raise Unreachable("bad_name") from None
        return _texts(await self._ask(question))

    async def _ask(self, question: dns.message.Message) -> dns.message.Message:
        servers = (_system() if self._servers is None else self._servers)[:MAX_SERVERS]
        reason = "no_name_server"
        for host, port in servers:
            try:
                async with asyncio.timeout(self._timeout_in_seconds / len(servers)):
                    return await dns.asyncquery.udp(
                        question, host, port=port, ignore_unexpected=True, raise_on_truncation=True
                    )
            except TimeoutError:
                reason = "timeout"
            except dns.message.Truncated:
                raise Unreachable("too_large") from None
            except OSError:
                reason = "no_name_server"
            except (dns.exception.DNSException, ValueError):
                reason = "bad_answer"
        raise Unreachable(reason)


def _texts(answer: dns.message.Message) -> list[bytes]:
    if not isinstance(answer, dns.message.QueryMessage):
        raise Unreachable("bad_answer")
    rcode = answer.rcode()
    if rcode == dns.rcode.NXDOMAIN:
        return []
    if rcode != dns.rcode.NOERROR:
        raise Unreachable("server_failure")
    try:
        found = (
            answer.resolve_chaining().answer
        )  # through CNAMEs, as far as the server followed them; loops are refused
    except dns.exception.DNSException:
        raise Unreachable("bad_answer") from None
    return [b"".join(record.strings) for record in found or () if isinstance(record, TXT)]


def _system() -> Sequence[Server]:
    """Return the system's name servers, read for each query because the network may change."""
    try:
        return [(str(one), 53) for one in dns.resolver.Resolver().nameservers]
    except dns.resolver.NoResolverConfiguration:
        return []

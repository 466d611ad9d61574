"""Restore the sandbox chain: repeat the journal's blocks and compare each hash."""

from collections.abc import Callable
from pathlib import Path

from server.sandbox.evm import DevChain, Refused
from server.sandbox.genesis import contracts_hash
from server.sandbox.journal import Header, Journal, JournalDamaged


def open_chain(
    directory: Path, chain_id: int, now: Callable[[], int], tell: Callable[[int], None] = lambda _: None
) -> tuple[DevChain, Journal]:
    """Restore the chain of a directory, or begin a new one; new blocks go to the journal.

    `now` returns Unix seconds; `tell` is called with the number of each restored block. Raises JournalDamaged if a
    block comes out different, and JournalInUse if another process uses the directory.
    """
    journal = Journal(directory, Header(chain_id, now(), contracts_hash()))
    try:
        chain = DevChain(chain_id, now, genesis_time=journal.header.genesis_time)
        _replay(chain, journal, tell)
    except BaseException:
        journal.close()
        raise
    chain.on_block = journal.append
    return chain, journal


def _replay(chain: DevChain, journal: Journal, tell: Callable[[int], None]) -> None:
    for sealed in journal.blocks():
        try:
            made = chain.replay(sealed)
        except Refused as problem:
            raise JournalDamaged(journal.path, f"block {sealed.number} cannot be replayed ({problem})") from problem
        if made != sealed.hash:
            raise JournalDamaged(journal.path, f"block {sealed.number} came out different")
        tell(sealed.number)

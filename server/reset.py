"""Delete a sandbox: its chain, and the SQLite market that traded on it. Other markets are not touched."""

from pathlib import Path

from server.sandbox.journal import JOURNAL_NAME, JournalInUse, delete_journal
from server.settings import BadSettings, Settings
from storage.sqlite import holds_mark


def reset_market(settings: Settings) -> None:
    """Delete the chain and the market; raises BadSettings if it is no sandbox or is running."""
    folder, database = settings.data_dir, settings.database_file
    if database is None:
        raise BadSettings(f"{settings.database_shown} is not a file: drop that database and make it anew yourself")
    if not (folder / JOURNAL_NAME).exists():
        raise BadSettings(f"{folder} holds no sandbox: nothing was deleted")
    if database.exists() and not holds_mark(database, "sandbox_chain"):
        raise BadSettings(f"{database} never traded in a sandbox: nothing was deleted")
    try:
        delete_journal(folder)
    except JournalInUse as refused:
        raise BadSettings(str(refused)) from None
    for ending in ("", "-wal", "-shm"):
        Path(f"{database}{ending}").unlink(missing_ok=True)

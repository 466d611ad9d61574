"""Tables of archives: the files that hold texts of ended jobs, and the jobs in each."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class ArchiveRow(Row, name="archives"):
    """A file with the texts, the history and the messages of some jobs."""

    name: Mapped[str] = mapped_column(primary_key=True)  # of the file, without its ending
    sha256: Mapped[str]  # hex, of the compressed file
    jobs: Mapped[int]
    made_at: Mapped[datetime]


class ArchivedJobRow(Row, name="archived_jobs"):
    """A job whose texts, history and messages are in an archive. Its other rows stay."""

    job_id: Mapped[str] = mapped_column(primary_key=True)
    archive: Mapped[str] = mapped_column(index=True)
    archived_at: Mapped[datetime]

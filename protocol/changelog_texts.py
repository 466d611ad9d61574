"""docs/changelog: what GET /v1/changelog answers, as a page."""

import inspect

from tools.changelog import CHANGELOG
from tools.records.meta import Changelog


def changelog_text() -> str:
    """The page as markdown, newest first."""
    sections = (
        line
        for entry in CHANGELOG
        for line in (f"## {entry.version}", "", entry.date, "", *(f"- {change}" for change in entry.changes), "")
    )
    return "\n".join(("# Changelog", "", inspect.getdoc(Changelog) or "", "", *sections))

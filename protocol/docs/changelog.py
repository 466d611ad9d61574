"""The page docs/changelog, with the content of GET /v1/changelog."""

import inspect

from tools.discovery.changelog import CHANGELOG
from tools.discovery.records import Changelog


def changelog_text() -> str:
    """Return the page as markdown, newest version first."""
    sections = (
        line
        for entry in CHANGELOG
        for line in (f"## {entry.version}", "", entry.date, "", *(f"- {change}" for change in entry.changes), "")
    )
    return "\n".join(("# Changelog", "", inspect.getdoc(Changelog) or "", "", *sections))

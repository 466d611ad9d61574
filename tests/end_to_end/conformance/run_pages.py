"""Open /docs in a headless Chromium: each page fits a phone, and prints, requests and loads nothing wrong.

    python -m tests.end_to_end.conformance.run_pages [folder]

Chromium is the program that CHROMIUM names, or the one on the path. If there is none, nothing runs, and a line says
so.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.end_to_end.conformance.browser import Tab, browser, installed
from tests.end_to_end.conformance.run_mcp import Outcome, printed, serving

SIZES = {"a phone": 360, "a small phone": 320, "a desk": 1280}
HEIGHT = 740
LINKS = "[...document.querySelectorAll('header a')].map(one => one.href)"
WIDTH = "[document.documentElement.scrollWidth, window.innerWidth]"
# elements beyond the right edge that are in no scrollable element
BEYOND = """[...document.querySelectorAll('main *, header *, footer *')].filter(one =>
  one.getBoundingClientRect().right > window.innerWidth + 1 && !one.closest('pre, .wide')).map(one => one.outerHTML.slice(0, 80))"""
LOOKS = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('main')).maxWidth]"


def main(folder: Path) -> int:
    """Print a line for each page and width; return the exit code.

    0: all as expected, or no browser. 1: not so.
    """
    program = installed()
    if program is None:
        print("PAGES NOT RUN: no Chromium on this machine", file=sys.stderr)
        return 0
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    with (
        serving() as url,
        tempfile.TemporaryDirectory(prefix="emporion-browser-", ignore_cleanup_errors=True) as profile,
        browser(program, Path(profile), logs / "chromium.log") as tab,
    ):
        return printed(list(looked_at(tab, url.removesuffix("/mcp"))), folder)


def looked_at(tab: Tab, base: str) -> Iterator[Outcome]:
    """Check every page that the first one links to."""
    tab.open(f"{base}/docs")
    for url in tab.value(LINKS):
        for name, width in SIZES.items():
            wrong = [*faults(tab, url, width)]
            yield Outcome(f"{url.removeprefix(base)} on {name}", not wrong, "; ".join(wrong))


def faults(tab: Tab, url: str, width: int) -> Iterator[str]:
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=width < 600)
    looks = set()
    for scheme in ("light", "dark"):
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        tab.open(url)
        background, measure = tab.value(LOOKS)
        looks.add(background)
        if measure == "none":
            yield "the stylesheet is not in force"
    if len(looks) != 2:
        yield "light and dark look alike"
    wide, window = tab.value(WIDTH)
    if wide > window or window != width:
        yield f"{wide} px wide in a window of {window}"
    yield from (f"beyond the edge: {one}" for one in tab.value(BEYOND)[:3])
    asked = [one["request"]["url"] for one in tab.told("Network.requestWillBeSent")]
    if [one for one in asked if not one.startswith("data:")] != [url]:
        yield f"asks for {asked}"
    for one in tab.told("Log.entryAdded"):
        yield f"complains: {one['entry']['text']}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))

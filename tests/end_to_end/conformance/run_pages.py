"""Open the pages for people in a headless Chromium: on a phone and a desk, light and dark, with hostile texts.

    python -m tests.end_to_end.conformance.run_pages [folder]

axe-core must find no violation. A page fits the window, asks for nothing else, and is complete without styles and
scripts. No link is dead. Chromium is the program that CHROMIUM names, or the one on the path. If there is none,
nothing runs, and a line says so.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from tests.end_to_end.conformance.browser import Tab, browser, installed
from tests.end_to_end.conformance.page_links import dead_links
from tests.end_to_end.conformance.page_market import MARKUP, RIGHT_TO_LEFT, TEXT, WORD, Shown, filled
from tests.end_to_end.conformance.run_mcp import NPM_IS_MISSING, Bench, Outcome, install, printed
from tests.end_to_end.conformance.run_trade import sandbox

SIZES = {"a small phone": 320, "a phone": 390, "a desk": 1280}
AUDITED = (390, 1280)  # an audit of the longest page takes seconds
HEIGHT = 740
FEWEST = 50  # places that the pages link to
DOCS = "[...document.querySelectorAll('.second a')].map(one => one.pathname)"
UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"
WIDTH = "[document.documentElement.scrollWidth, window.innerWidth]"
# elements beyond the left or right edge; not in a scrollable element, and not in code, where spaces hang at line ends
BEYOND = """[...document.querySelectorAll('main *, header *, footer *')].filter(one => {
  const place = one.getBoundingClientRect();
  return (place.right > window.innerWidth + 1 || place.left < -1) && !one.closest('.wide, thead, pre *');
}).map(one => one.outerHTML.slice(0, 80))"""
LOOKS = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('main')).maxWidth]"
VIOLATIONS = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(one =>
  `${one.id}: ${one.nodes.map(node => node.html.slice(0, 80)).slice(0, 3).join(' ')}`))"""
BARE = "[...document.styleSheets].forEach(one => one.disabled = true)"
# texts that a reader cannot see; a field and the title of a drawing show theirs in another way
UNSEEN = """(() => {
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), unseen = [];
  while (texts.nextNode()) {
    const one = texts.currentNode, range = document.createRange();
    range.selectNode(one);
    if (one.data.trim() && !one.parentElement.closest('select, textarea, title') && !range.getClientRects().length)
      unseen.push(one.data.trim().slice(0, 80));
  }
  return unseen;
})()"""
SCRIPTS = "document.querySelectorAll('script, [style]').length"


@dataclass(frozen=True)
class Page:
    """A page: its path with the query, and the expected status.

    `text` is pasted into its form and sent.
    """

    path: str
    status: int = 200
    text: str = ""

    @property
    def name(self) -> str:
        path = self.path if len(self.path) <= 60 else f"{self.path[:60]}..."
        return f"{path} with a result ({self.status})" if self.text else path


def main(folder: Path) -> int:
    """Print a line for each page and width; return the exit code.

    0: all as expected, or no browser. 1: not so. 2: npm is missing.
    """
    program = installed()
    if program is None:
        print("PAGES NOT RUN: no Chromium on this machine", file=sys.stderr)
        return 0
    bench = install(folder)
    return NPM_IS_MISSING if bench is None else printed(asyncio.run(checked(bench, program)), folder)


async def checked(bench: Bench, program: str) -> list[Outcome]:
    """Serve a market, fill it, and check every page."""
    logs = bench.folder / "logs"
    logs.mkdir(exist_ok=True)
    axe = (bench.folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    async with sandbox("--desk") as url:
        shown = await filled(url)
        followed = await links(url)
        with (
            tempfile.TemporaryDirectory(prefix="emporion-browser-", ignore_cleanup_errors=True) as profile,
            browser(program, Path(profile), logs / "chromium.log") as tab,
        ):
            tab.open(f"{url}/docs")
            pages = [*pages_of(shown), *map(Page, tab.value(DOCS))]
            return [followed, *(outcome for page in pages for outcome in Visit(tab, url, page, axe).outcomes())]


async def links(url: str) -> Outcome:
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as http:
        count, dead = await dead_links(http)
    return Outcome("links", count >= FEWEST and not dead, f"{count} places followed. {'; '.join(dead[:5])}".strip())


def pages_of(shown: Shown) -> Iterator[Page]:
    yield from map(Page, ("/", "/listings", "/bounties", "/leaderboard", "/feed", "/stats", "/disputes", "/x402"))
    for words in (WORD, MARKUP, RIGHT_TO_LEFT):
        yield Page(f"/listings?q={quote(words[:200])}")
    for listing in shown.listings:
        yield Page(f"/listings/{listing}")
    for agent in (shown.seller, shown.buyer):
        yield Page(f"/agents/{agent}")
    yield Page(f"/bounties/{shown.bounty}")
    yield Page("/verify")
    yield Page("/verify", text=shown.receipt)
    yield Page("/verify", 400, TEXT)
    yield Page("/listings/lst_none", 404)
    yield Page(f"/{quote(TEXT[:300])}", 404)
    yield Page(f"/listings?q={WORD * 50}", 400)


@dataclass(frozen=True)
class Visit:
    """One page in the browser, with the source of axe-core."""

    tab: Tab
    base: str
    page: Page
    axe: str

    def outcomes(self) -> Iterator[Outcome]:
        for name, width in SIZES.items():
            wrong = [*self.faults(width)]
            yield Outcome(f"{self.page.name} on {name}", not wrong, "; ".join(wrong))
        self.tab.call("Emulation.setScriptExecutionDisabled", value=True)
        wrong = [*self.missing()]
        self.tab.call("Emulation.setScriptExecutionDisabled", value=False)
        yield Outcome(f"{self.page.name} without styles and scripts", not wrong, "; ".join(wrong))

    def arrive(self) -> None:
        self.tab.open(f"{self.base}{self.page.path}")
        if self.page.text:
            fill = f"document.querySelector('textarea').value = {json.dumps(self.page.text)}"
            self.tab.follow(f"{fill}; document.querySelector('form button').click()")

    def faults(self, width: int) -> Iterator[str]:
        tab, looks = self.tab, set()
        tab.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=width < 600
        )
        for scheme in ("light", "dark"):
            tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.arrive()
            if wrong := [*self.requests()]:
                yield from wrong
                return
            background, measure = tab.value(LOOKS)
            looks.add(background)
            if measure == "none":
                yield "the stylesheet is not in force"
            tab.value(UNFOLD)
            yield from self.layout(width)
            if width in AUDITED:
                tab.value(self.axe)
                yield from (f"{scheme}: {one}" for one in tab.value(VIOLATIONS))
        if len(looks) != 2:
            yield "light and dark look alike"

    def requests(self) -> Iterator[str]:
        """Yield a wrong status, requests for more than the page and its icon, and complaints."""
        url = f"{self.base}{self.page.path}"
        asked = {one["request"]["url"] for one in self.tab.told("Network.requestWillBeSent")}
        if more := asked - {url, f"{self.base}/favicon.svg"}:
            yield f"asks for {more}"
        answers = [one["response"] for one in self.tab.told("Network.responseReceived")]
        if [one["status"] for one in answers if one["url"] == url] != [self.page.status]:
            yield f"answered {[(one['status'], one['url']) for one in answers]}"
        for one in self.tab.told("Log.entryAdded"):
            refused = self.page.status >= 400 and one["entry"].get("url") == url
            if not refused:
                yield f"complains: {one['entry']['text']}"

    def layout(self, width: int) -> Iterator[str]:
        wide, window = self.tab.value(WIDTH)
        if wide > window or window != width:
            yield f"{wide} px wide in a window of {window}"
        yield from (f"beyond the edge: {one}" for one in self.tab.value(BEYOND)[:3])

    def missing(self) -> Iterator[str]:
        """Yield what a browser without scripts and the stylesheet does not show."""
        self.arrive()
        if wrong := [*self.requests()]:
            yield from wrong
            return
        self.tab.value(f"{UNFOLD}; {BARE}")
        if self.tab.value(LOOKS)[1] != "none":
            yield "the stylesheet is in force"
        yield from (f"not visible: {one}" for one in self.tab.value(UNSEEN)[:3])
        if self.tab.value(SCRIPTS):
            yield "has scripts, or styles in elements"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()))

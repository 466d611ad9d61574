"""Follow every link of every page of a served market, from `/` on."""

import re
from html import unescape
from urllib.parse import urldefrag, urljoin

import httpx

LINK = re.compile(r'<(?:a|link|form) [^>]*?(?:href|action)="([^"]*)"')
ID = re.compile(r' id="([^"]*)"')
HTML = {"Accept": "text/html,*/*;q=0.8"}


async def dead_links(http: httpx.AsyncClient) -> tuple[int, list[str]]:
    """Return the number of places, and the dead links with the page that has them.

    A fragment must be an id of its page. Links to other hosts are not followed.
    """
    base = str(http.base_url).rstrip("/")
    places, waiting, wanted = dict[str, set[str]](), [(f"{base}/", "the start")], list[tuple[str, str, str]]()
    dead = list[str]()
    while waiting:
        url, page = waiting.pop()
        if url in places:
            continue
        answer = await http.get(url, headers=HTML, follow_redirects=True)
        if answer.is_error:
            dead.append(f"{url} of {page}: {answer.status_code}")
        text = answer.text if answer.headers.get("content-type", "").startswith("text/html") else ""
        places[url] = set(ID.findall(text))
        links = [urldefrag(urljoin(url, unescape(one))) for one in LINK.findall(text)]
        ours = [one for one in links if one.url == base or one.url.startswith(f"{base}/")]
        waiting += [(one.url, url) for one in ours]
        wanted += [(one.url, one.fragment, url) for one in ours if one.fragment]
    dead += [f"{url}#{name} of {page}" for url, name, page in wanted if name not in places[url]]
    return len(places), dead

"""Answers of a model endpoint and a web site in tests: recorded ones, and ones with every fault they can have."""

import asyncio
import gzip
from typing import Any

import orjson

from tests.support.http_receiver import Answer


def answering(code: int, body: bytes, *headers: str) -> Answer:
    """Return an answer with this status, body and headers."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {code} Said", f"content-length: {len(body)}", *headers]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await writer.drain()

    return answer


def completion(document: Any, *, finish: str = "stop", refusal: str | None = None) -> Answer:
    """Return a chat completion whose content is a document as JSON, or a text unchanged."""
    content = document if isinstance(document, str | None) else orjson.dumps(document).decode()
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice = {"index": 0, "finish_reason": finish, "message": message, "logprobs": None}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice]}
    return answering(200, orjson.dumps(body), "content-type: application/json")


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", *headers: str) -> Answer:
    return answering(200, body.encode() if isinstance(body, str) else body, f"content-type: {kind}", *headers)


def packed(body: bytes, kind: str = "text/html") -> Answer:
    """Return a page in gzip, which is compressed only when it is sent."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        await page(gzip.compress(body, 9), kind, "content-encoding: gzip")(writer)

    return answer


async def drip(writer: asyncio.StreamWriter) -> None:
    """Send a page one byte at a time, without end."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 1000000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


SENTENCE = "The market never holds money, and a payment is proven by the hash of its transaction. "
ARTICLE = f"""<!doctype html><html lang="en"><head><title>How it is paid</title>
<meta name="description" content="Payment without a custodian."></head><body><nav><a href="/home">Home</a></nav>
<article><h1>How it is paid</h1><p>{SENTENCE * 8}</p><p>{SENTENCE * 8}</p>
<p>More stands <a href="terms?x=1#top">in the terms</a>, or <a href="javascript:alert(1)">here</a>.</p></article>
<script>document.write("unseen")</script></body></html>"""

"""Sell without a waiting loop: the market posts each order to this server, which verifies and works it.

PUBLIC_URL is the address at which the market reaches this server.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from emporion_client import Market, WrongSignature, verified

URL = os.environ.get("PUBLIC_URL") or sys.exit("Set PUBLIC_URL, for example to http://127.0.0.1:9000 on a sandbox")
market = Market(name="Webhook word counter", home=Path.home() / ".emporion/webhook-word-counter")
listing = market.create_listing(
    title="Count the words of a text, by webhook", description="Send a text; get the number of its words.",
    category="text", pricing_model="fixed", price=10_000, input_schema={"type": "object", "required": ["text"]},
)  # fmt: skip
hook = market.create_webhook(url=URL, event_types=["job.created"])


class Orders(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = verified(body, dict(self.headers), hook["secret"])
        except WrongSignature:
            self.send_error(401)
            return
        job = market.accept_job(job_id=event["data"]["job_id"])  # a repeated event gets the same answers
        market.deliver_job(job_id=job["id"], output={"words": len(job["input"]["text"].split())})
        self.send_response(204)
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Orders).serve_forever()

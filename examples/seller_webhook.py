"""Sell without a waiting loop: the market posts each order to PUBLIC_URL, where this server verifies and works it."""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from emporion_client import EmporionError, Market, WrongSignature, verified


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        try:
            verified(self.rfile.read(int(self.headers["content-length"])), dict(self.headers), SECRET)
        except WrongSignature:
            self.send_error(401)
            return
        for job in market.pages("list_jobs", role="seller", status=["open"]):  # events may be late or come twice
            try:
                market.deliver_job(job_id=job["id"], output={"word": max(job["input"]["text"].split(), key=len)})
            except ValueError:
                market.decline_job(job_id=job["id"], reason="There is no word in this text.")
        self.send_response(204)
        self.end_headers()


URL = os.environ.get("PUBLIC_URL") or sys.exit("Set PUBLIC_URL, for example to http://127.0.0.1:9000 on a sandbox")
market, SECRET = Market(name="Webhook seller", home=Path.home() / ".emporion/webhook-seller"), os.urandom(24).hex()
try:
    with market.account.home.lock("seller"), HTTPServer(("127.0.0.1", int(os.getenv("PORT", "9000"))), Hook) as server:
        listing = market.create_listing(external_id="longest-word", title="Find the longest word, by webhook", price=10_000,
            category="text", pricing_model="fixed", description="Send a text; get its longest word.",
            input_schema={"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}})  # fmt: skip
        for hook in market.list_webhooks()["data"] or [market.create_webhook(url=URL, event_types=["job.created"])]:
            market.update_webhook(webhook_id=hook["id"], url=URL, secret=SECRET, status="active")
        print("selling", listing["id"], "at", URL, flush=True)
        server.serve_forever()
except (EmporionError, OSError) as error:
    sys.exit(str(error))

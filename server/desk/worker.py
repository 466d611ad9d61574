"""The desk's worker: it checks orders, accepts or declines them, works and delivers.

Its state is in the market. It asks for its jobs each time, so a desk that was killed continues, and nothing is done twice: an order
is accepted once, and a job takes one delivery.
"""

import asyncio
from collections.abc import Mapping

import structlog

from server.desk.market import Away, JsonObject, Market, Refused
from server.desk.service import MAX_REASON, Declined, Failed, Kit, Order, Service, Work

AT_ONCE = 4  # jobs that are looked at or worked, of services with a model and of those without
WAIT_SECONDS = 20  # for news; then it looks without any
AGAIN_SECONDS = 2.0  # while the market does not answer
NEWS = "job.created,job.revision_requested,job.cancelled"
ENDED = ("cancelled", "expired")
FAULT = "The desk failed at this order through a fault of its own. You are not charged."
UNSAID = "This input cannot be worked; why cannot be said here, for it would quote what looks like a secret. You are not charged."
SAME = "The same output again: each order is worked once. For another result order anew, with what was missing in the input."
log = structlog.get_logger()


class Worker:
    """Works the jobs of these listings."""

    def __init__(self, market: Market, kit: Kit, services: Mapping[str, Service], at_once: int = AT_ONCE) -> None:
        self.market, self.kit, self.services = market, kit, services
        self.places = {slow: asyncio.Semaphore(at_once) for slow in (False, True)}  # nobody waits behind a slow model
        self.under_way: dict[str, asyncio.Task[None]] = {}
        self.since: str | None = None
        self.made: dict[str, JsonObject] = {}  # what is finished and not yet taken by the market

    async def run(self) -> None:
        """Work until it is cancelled; the next desk continues with unfinished jobs."""
        try:
            while True:
                try:
                    await self.look()
                    await self.hear()
                except Away as away:
                    log.warning("market_away", why=str(away))
                    await asyncio.sleep(AGAIN_SECONDS)
        finally:
            tasks = list(self.under_way.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def look(self) -> None:
        """Begin with each job that waits for the desk and is not yet under way."""
        waiting = set()
        for status in ("in_progress", "open"):
            async for job in self.market.pages("/v1/jobs", role="seller", status=status, limit=20):
                waiting.add(job["id"])
                service = self.services.get(job["listing_id"])
                if service is not None and job["id"] not in self.under_way:
                    self._begin(job["id"], service)
        for job_id in self.made.keys() - waiting - self.under_way.keys():
            del self.made[job_id]  # taken by the market, whose answer was lost
        await self._let_go(self.under_way.keys() - waiting)

    async def _let_go(self, moved: set[str]) -> None:
        """Stop work on orders that were cancelled or have expired, which frees their places."""
        for job_id in moved:
            ended = (await self.market.get(f"/v1/jobs/{job_id}"))["status"] in ENDED
            task = self.under_way.get(job_id)
            if ended and task is not None:
                task.cancel()
                log.info("let_go", job=job_id)

    async def hear(self) -> None:
        """Wait until something happened; what happened is read from the jobs."""
        more = True
        while more:
            query: JsonObject = {"types": NEWS, "limit": 100, "wait_seconds": WAIT_SECONDS}
            page = await self.market.get("/v1/events", **query | ({"since": self.since} if self.since else {}))
            more, self.since = page["has_more"], page["next_since"]

    def _begin(self, job_id: str, service: Service) -> None:
        work = self.work(job_id, self.places[service.needs_model])
        task = self.under_way[job_id] = asyncio.create_task(work, name=job_id)
        task.add_done_callback(lambda _: self.under_way.pop(job_id))

    async def work(self, job_id: str, places: asyncio.Semaphore) -> None:
        """Do what a job waits for. One that goes wrong ends itself, not the desk."""
        async with places:
            try:
                await self._work(job_id)
            except Away as away:
                log.warning("job_waits", job=job_id, why=str(away))
                await asyncio.sleep(AGAIN_SECONDS)
            except Refused as refused:  # the buyer was quicker: read it again
                self.made.pop(job_id, None)
                log.warning("job_refused", job=job_id, code=refused.code)
            except Exception as fault:  # whatever an input brings about, other orders are worked
                log.error("job_failed", job=job_id, kind=type(fault).__name__, exc_info=True)
                await self._give_up(job_id)

    async def _work(self, job_id: str) -> None:
        job = await self.market.get(f"/v1/jobs/{job_id}")
        if job["status"] == "open":
            await self._take(job)
        elif job["status"] == "in_progress":
            await self._finish(job)

    async def _take(self, job: JsonObject) -> None:
        """Accept the order and work it, or say why not."""
        left = await self._looked_at(job, "decline")
        if left is None:
            return
        accepted = await self.market.post(f"/v1/jobs/{job['id']}/accept")
        if accepted["status"] == "in_progress":
            await self._complete(job["id"], left)

    async def _finish(self, job: JsonObject) -> None:
        """Continue an order that another desk accepted, or that must be revised."""
        if job["deliveries"]:
            last = max(one["revision"] for one in job["deliveries"])
            earlier = await self.market.get(f"/v1/jobs/{job['id']}/deliveries/{last}")
            await self._deliver(job["id"], {"output": earlier["output"], "message": SAME})
            return
        if job["id"] in self.made:
            await self._deliver(job["id"], self.made[job["id"]])
            return
        left = await self._looked_at(job, "cancel")
        if left is not None:
            await self._complete(job["id"], left)

    async def _looked_at(self, job: JsonObject, otherwise: str) -> Work | None:
        """Return the work of an order; None after it was declined or cancelled (`otherwise`)."""
        service = self.services[job["listing_id"]]
        try:
            if service.needs_model and self.kit.model is None:
                raise Declined("No language model is connected to this desk now.")
            return await service.look(self.kit, Order(job["input"], job["units"]))
        except Declined as why:
            await self._say(job["id"], otherwise, str(why))
            return None

    async def _complete(self, job_id: str, left: Work) -> None:
        try:
            output = await left()
        except Failed as why:
            await self._say(job_id, "cancel", str(why))
            return
        self.made[job_id] = {"output": output}
        await self._deliver(job_id, self.made[job_id])

    async def _deliver(self, job_id: str, delivery: JsonObject) -> None:
        """Deliver; cancel what the market does not take as a delivery."""
        try:
            await self.market.post(f"/v1/jobs/{job_id}/deliver", delivery)
            log.info("delivered", job=job_id)
        except Refused as refused:
            if refused.status == 409:
                raise
            await self._say(job_id, "cancel", f"The work could not be delivered ({refused.code}). You are not charged.")
        self.made.pop(job_id, None)

    async def _say(self, job_id: str, word: str, reason: str) -> None:
        """Decline or cancel; if the market refuses the reason's text, send a fixed one."""
        try:
            await self.market.post(f"/v1/jobs/{job_id}/{word}", {"reason": reason[:MAX_REASON]})
        except Refused as refused:
            if refused.status != 400:
                raise
            await self.market.post(f"/v1/jobs/{job_id}/{word}", {"reason": UNSAID})
        log.info(word, job=job_id)

    async def _give_up(self, job_id: str) -> None:
        """Cancel an order, or decline it if it was not accepted yet."""
        try:
            await self._say(job_id, "cancel", FAULT)
        except (Away, Refused) as why:
            log.warning("job_waits", job=job_id, why=str(why))

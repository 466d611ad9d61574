"""Cheats about keys and accounts: test keys on live, foreign keys and names, and signatures that were seen before."""

import os
import tempfile
from pathlib import Path

import orjson
from nacl.signing import SigningKey

from server.cli import emporion
from server.settings import BadSettings, Settings, check_named
from storage.postgres import BELIEVED_SECONDS
from tests.simulation.cheats.base import Abandoned, Cheat, binding, personal_sign
from tests.simulation.population import Identity
from tests.simulation.raw_requests import Reply
from tests.simulation.records import Json
from tests.support.market import Agent
from tests.support.signed_requests import signing
from tools.catalogue import CATALOGUE
from tools.kernel.keys import rotation_message

NAMES = ("Emporion Operator", "Official Support", "Staff", "Moderator", "0perator", "Emp0rion", "$taff", "Оperator")
HANDLES = ("operator", "official", "emporion", "official-help", "m0derator", "op-er-at-or")


class Signs(Cheat):
    """A cheat that sees the signed requests of a victim."""

    def signed(
        self, who: Identity, operation: str, seed: bytes, **given: object
    ) -> tuple[str, str, bytes, list[tuple[str, str]]]:
        """Return method, path, body and headers of a signed request."""
        agent = Agent(who.id, who.handle, who.keys, seed)
        now = self.simulation.machine.clock.now().timestamp()
        nonce = self.simulation.machine.dice.random_bytes(12).hex()
        made = signing(agent, CATALOGUE[operation], given, now, nonce=nonce, sent={"content-type": "application/json"})
        path = made.url.removeprefix("http://market.test")
        return made.method, path, made.body, [*made.headers(seed).items()]

    async def dispatch(self, made: tuple[str, str, bytes, list[tuple[str, str]]]) -> Reply:
        return await self.send(*made, patient=False)


class UsesTestKeysOnLive(Cheat):
    """A finder of a leaked test key that wants the agent's live identity."""

    name = "uses test keys on live"
    finding = 4

    async def trick(self) -> None:
        victim = await self.other("victim", live=True)
        thief = {"env": "live", "name": "mine"}
        self.attempt()
        made = await self.ask(victim, "create_api_key", **thief)
        self.gain("access", int(not made.refused), "a test key made a live key")
        keys = (await self.need(victim, "list_api_keys", on="live"))["data"]
        for key in [one for one in keys if one["env"] == "live"]:
            revoked = await self.ask(victim, "revoke_api_key", key_id=key["id"])
            self.gain("access", int(not revoked.refused), "a test key revoked a live key")
        renamed = await self.ask(victim, "update_me", name=f"Mallory {self.acts}")
        self.gain("access", int(not renamed.refused), "a test key renamed an agent on live")
        gone = await self.ask(victim, "delete_me", confirm=victim.handle)
        self.gain("access", int(not gone.refused), "a test key deleted an agent on live")
        await self.memory(victim)

    async def memory(self, victim: Identity) -> None:
        await self.need(victim, "put_memory", on="live", key="plan", value="bid at most 3")
        read = await self.ask(victim, "get_memory", key="plan")
        self.gain("access", int("bid at most 3" in str(read.body)), "a test key read the memory of live")


class SquatsKeys(Cheat):
    """An agent that registers the public key of another."""

    name = "squats keys"
    finding = 9

    async def trick(self) -> None:
        key = SigningKey(self.simulation.machine.dice.random_bytes(32))
        public = key.verify_key.encode().hex()
        squatter = await self.simulation.call(
            None, None, "register_agent", name=f"Agent {public[:8]}", public_key=public
        )
        if squatter.refused:
            raise Abandoned(str(squatter.code))
        agent, did = squatter.body["agent"]["id"], squatter.body["keypair"]["did"]
        self.attempt()
        attested = str((await self.simulation.call(None, None, "get_attestation", agent_id=agent)).body)
        self.gain("access", int(did in attested or public in attested), f"{agent} is attested as {did}")
        leaves = self.likely(0.3)
        if leaves:
            confirm = squatter.body["agent"]["handle"]
            await self.simulation.call(agent, squatter.body["api_keys"]["live"], "delete_me", confirm=confirm)
        now = int(self.simulation.machine.clock.now().timestamp())
        proof = key.sign(f"service:register:{public}:{now}".encode()).signature.hex()
        given = {"public_key": public, "proof": proof, "signed_at": now}
        owner = await self.simulation.call(None, None, "register_agent", name=f"Owner {public[:8]}", **given)
        self.gain("access", int(owner.code == "public_key_in_use"), f"the owner of {public} cannot register")


class BindsForeignSignatures(Cheat):
    """An agent that binds a wallet with a signature which the wallet gave to another market."""

    name = "binds foreign signatures"
    finding = 15

    async def trick(self) -> None:
        victim = self.new_wallet()
        thief = Identity(self.identity.id, self.identity.handle, self.identity.keys, self.identity.seed, victim)
        root = SigningKey(thief.seed).sign(binding(thief, "service").encode()).signature.hex()
        for text in (binding(thief, "agora"), binding(thief, "service").replace(thief.id, "agt_" + "0" * 26)):
            self.attempt()
            given = {"address": victim.address, "signature": personal_sign(victim, text), "proof": root}
            bound = await self.ask(thief, "set_wallet_address", **given)
            self.gain("access", int(not bound.refused), f"a signature over {text} bound a wallet here")
        public = Settings(_env_file=None, base_url="https://market.example")
        try:
            check_named(public)
        except BadSettings:
            return
        self.gain("access", 1, "a public market starts under the name of all markets")


class ReplaysSignatures(Signs):
    """An observer that sends a signed request of another agent again."""

    name = "replays signatures"

    async def trick(self) -> None:
        victim = await self.other("victim")
        seen = self.signed(victim, "create_api_key", victim.seed, env="test", scopes=["read"], expires_in_days=1)
        first = await self.dispatch(seen)
        if first.status != 201:
            raise Abandoned(f"the signed request: {first.status}")
        made = first.body
        self.attempt()
        method, path, body, headers = seen
        other = orjson.dumps({"env": "live"})
        for again in (seen, (method, path, other, headers), (method, f"{path}?", body, headers)):
            reply = await self.send(*again)
            self.gain("access", int(reply.status < 300), f"a signature was taken twice: {reply.raw[:200]!r}")
        await self.ask(victim, "revoke_api_key", key_id=made["id"])


class UsesRevokedKeys(Signs):
    """A holder of an API key that was revoked, and of a root key that was replaced."""

    name = "uses revoked keys"

    async def trick(self) -> None:
        victim = await self.other("victim")
        made = await self.need(victim, "create_api_key", env="test", name="leaked")
        leaked = Identity(victim.id, victim.handle, {"test": made["key"]}, victim.seed, victim.wallet)
        await self.need(leaked, "get_me")  # so that all caches know it
        await self.need(victim, "revoke_api_key", key_id=made["id"])
        if len(self.simulation.machines) > 1:  # another process may know the key for this long (docs/scaling.md)
            await self.simulation.sleep(BELIEVED_SECONDS)
        self.attempt()
        for operation, given in (("get_me", {}), ("list_jobs", {}), ("put_memory", {"key": "k", "value": 1})):
            used = await self.ask(leaked, operation, **given)
            self.gain("access", int(not used.refused), f"a revoked key was taken for {operation}")
        await self.rotate(victim)

    async def rotate(self, victim: Identity) -> None:
        """Replace the root key, then sign with the old one."""
        old, new = SigningKey(victim.seed), SigningKey(self.simulation.machine.dice.random_bytes(32))
        was, public = old.verify_key.encode().hex(), new.verify_key.encode().hex()
        text = rotation_message("service", victim.id, was, public)
        given = {"new_public_key": public, "proof": new.sign(text.encode()).signature.hex()}
        changed = await self.dispatch(self.signed(victim, "rotate_key", victim.seed, **given))
        if changed.status != 200:
            del self.others["victim"]  # it is not known which key it has
            raise Abandoned(f"rotate_key: {changed.status}")
        victim.seed = new.encode()
        reply = await self.dispatch(self.signed(victim, "create_api_key", old.encode(), env="test"))
        self.gain("access", int(reply.status < 300), "a replaced root key signed a request")


class ImitatesOperator(Cheat):
    """An agent that takes a name or a handle of the operator."""

    name = "imitates the operator"
    finding = 17

    async def trick(self) -> None:
        given: Json = {"name": self.random.choice(NAMES)}
        if self.likely(0.5):
            given = {"handle": self.random.choice(HANDLES)}
        self.attempt()
        made = await self.simulation.call(None, None, "register_agent", **({"name": "Agent"} | given))
        changed = await self.ask(self.identity, "update_me", on="live", **given)
        self.gain("rank", int(not made.refused) + int(not changed.refused), f"an agent has {given}")


class ReadsFiles(Cheat):
    """Another user of the operator's machine that opens the files which the market writes."""

    name = "reads files"
    finding = 18

    async def trick(self) -> None:
        self.simulation.count()
        self.attempt()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "market.db"
            usual = umask_at_start(file)
            self.gain("access", file.stat().st_mode & 0o077, f"a file is made with the umask {usual:o}")


def umask_at_start(file: Path) -> int:
    """Write a file as the market does after its start; return the umask at that time."""
    before = os.umask(0o022)
    try:
        emporion(False)
        file.touch()
    finally:
        used = os.umask(before)
    return used


ACCOUNT_CHEATS = (
    UsesTestKeysOnLive, SquatsKeys, BindsForeignSignatures, ReplaysSignatures, UsesRevokedKeys, ImitatesOperator, ReadsFiles,
)  # fmt: skip

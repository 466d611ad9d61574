"""One agent as the flows see it: its home, wallet, key and limits, and its calls to the market."""

import hashlib
import logging
import os
import re
import secrets
import threading
from pathlib import Path
from typing import Any, Literal

from emporion_client.answers import JsonObject, record_at, text
from emporion_client.errors import EmporionError, HomeDamaged, LimitReached, NotSignedIn, UnexpectedAnswer
from emporion_client.home import Home, default_folder, is_loopback, is_made
from emporion_client.money import Price, to_minor
from emporion_client.operation import place
from emporion_client.table import OPERATIONS
from emporion_client.transport import Call, Flow, attempts
from emporion_client.wallet import LocalWallet, Signer

Env = Literal["test", "live"]
LOCAL = "http://127.0.0.1:8000"
BRAND = re.compile(r"[a-z0-9][a-z0-9-]{1,30}[a-z0-9]")
AGENT = re.compile(r"agt_[0-9A-Za-z]{1,60}")
KEY = re.compile(r"[!-~]{1,1000}")  # what a header can carry
ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
log = logging.getLogger("emporion")


class Account:
    """The state of one agent on one market and environment."""

    def __init__(
        self,
        url: str | None = None,
        env: Env = "test",
        name: str | None = None,
        home: Path | None = None,
        wallet: Signer | None = None,
        spend: Price | None = None,
        gasless: bool = True,
    ) -> None:
        if env not in ("test", "live"):
            raise ValueError("env is 'test' or 'live'")
        self.url = (url or os.environ.get("EMPORION_URL") or LOCAL).rstrip("/")
        _check_url(self.url, env)
        self.env, self._given_name = env, name or os.environ.get("EMPORION_NAME")
        self.name = self._given_name or "Agent"
        self.limit = None if spend is None else to_minor(spend)
        self.gasless = gasless
        self.folder = home or default_folder(self.url, env)
        self._turn = threading.Lock()
        self._home: Home | None = None
        self._inherited: list[Home] = []
        self._wallet = wallet
        self._key = os.environ.get("EMPORION_API_KEY") or None
        _check_key(self._key, env)
        self._bound = False
        self.network: JsonObject | None = None

    @property
    def home(self) -> Home:
        """The home folder, made at its first use."""
        with self._turn:
            if self._home is not None and self._home.pid != os.getpid():
                self._inherited.append(self._home)  # a fork has it; only the parent may use or close it
                self._home = None
            if self._home is None:
                self._home = Home(self.folder)
            return self._home

    @property
    def agent_id(self) -> str | None:
        """The id of this home's agent; None before it is registered, and if a key was given."""
        if not is_made(self.folder):  # finding something makes no home
            return None
        keys = self.home.read_keys()
        return keys.get("agent_id") if self._key in (None, keys.get("api_key")) else None

    @property
    def trusts_proxies(self) -> bool:
        """Tell whether calls go through the proxies of the environment; not those to this machine."""
        return not is_loopback(self.url)

    def close(self) -> None:
        """Close the home."""
        if self._home is not None:
            self._home.close()
            self._home = None

    @property
    def wallet(self) -> Signer:
        """The wallet: the given one, that of EMPORION_WALLET_KEY, or the home's own."""
        if self._wallet is None:
            self._wallet = self._own_wallet()
        return self._wallet

    def _own_wallet(self) -> LocalWallet:
        if given := os.environ.get("EMPORION_WALLET_KEY"):
            return LocalWallet(given)
        keys = self.home.read_keys()
        if "wallet" not in keys:
            made = LocalWallet.create()
            keys = self.home.add_keys(wallet=made.key, address=made.address)
        if "address" in keys and not ADDRESS.fullmatch(keys["address"]):
            raise HomeDamaged(f"{self.home.file} has an address of an unknown form; nothing was signed")
        return LocalWallet(keys["wallet"], keys.get("address"), self.home.file)

    def call(self, name: str, /, not_repeated: tuple[str, ...] = (), **arguments: Any) -> Flow[JsonObject]:
        """Call an operation by its name.

        All attempts of a writing call carry one Idempotency-Key, so that it takes effect once. Errors with a code of
        `not_repeated` are raised at once.
        """
        operation = OPERATIONS[name]
        if operation.repeatable and arguments.get("idempotency_key") is None:
            arguments["idempotency_key"] = secrets.token_hex(16)
        placed = place(operation, arguments)
        headers = placed.headers
        if self._key is not None and operation.login != "none":
            headers["X-API-Key"] = self._key
        return attempts(
            Call(operation.method, self.url + placed.path, placed.json, placed.query, headers, not_repeated)
        )

    def operate(self, name: str, arguments: JsonObject) -> Flow[JsonObject]:
        """Call an operation for a program; join the market first if the operation needs a key."""
        if OPERATIONS[name].login == "required":
            yield from self.joined()
        return (yield from self.call(name, **arguments))

    def headers(self) -> dict[str, str]:
        """Return the headers that prove who calls."""
        return {} if self._key is None else {"X-API-Key": self._key}

    def joined(self) -> Flow[None]:
        """Register and bind the wallet, unless this home did so before.

        Each step is on disk before the next. A repeated step changes nothing.
        """
        if self._bound:
            return
        wallet = self.wallet
        if self._key is None:
            self._key = yield from self._registered()
            if self.env == "test" and is_loopback(self.url):
                self._key = yield from self._still_known(self._key)
        mark = f"bound:{hashlib.sha256(self._key.encode()).hexdigest()[:16]}:{wallet.address.lower()}"
        if not self.home.journal.get(mark):
            yield from self._bind(wallet)
            self.home.journal.put(mark, True)
        self._bound = True

    def _registered(self) -> Flow[str]:
        keys = self.home.read_keys()
        if "api_key" not in keys:
            repeat = self.home.journal.once("register")
            made = yield from self.call("register_agent", name=self.name, idempotency_key=repeat)
            found = {"agent_id": text(made, "agent", "id"), "api_key": text(made, "api_keys", self.env)}
            if not re.fullmatch(rf"as_{self.env}_[0-9A-Za-z]{{8,200}}", found["api_key"]):
                raise UnexpectedAnswer("the market gave an API key of an unknown form; it was not kept")
            found["name"] = self.name
            found["root_key"] = text(made, "keypair", "secret_key")
            keys = self.home.add_keys(**found)
        elif self._given_name and "name" in keys and keys["name"] != self._given_name:
            log.warning(
                "%s holds the agent %r, so %r is the same agent; another agent needs another home: Market(home=…)",
                self.folder,
                keys["name"],
                self._given_name,
            )
        if not KEY.fullmatch(keys["api_key"]):
            raise HomeDamaged(f"{self.home.file} has an API key of an unknown form; it was left as it is")
        _check_key(keys["api_key"], self.env)
        return keys["api_key"]

    def _still_known(self, key: str) -> Flow[str]:
        """Return the key; a new agent's if the market of this machine was emptied, as sandboxes are."""
        try:
            yield from attempts(Call("GET", self.url + "/v1/agents/me", headers={"X-API-Key": key}))
        except NotSignedIn:
            log.warning("the market at %s does not know this home's agent; another is registered", self.url)
            self.home.forget_agent(key)
            return (yield from self._registered())
        return key

    def _bind(self, wallet: Signer) -> Flow[None]:
        address = wallet.address.lower()
        me = yield from self.call("get_me", address=address)
        bound = me.get("wallet_address")
        if isinstance(bound, str) and bound.lower() == address:
            return
        if bound is not None:
            raise EmporionError(
                f"this agent has bound the wallet {str(bound)[:64]}; give that one, not {wallet.address}"
            )
        agent, line = text(me, "id"), text(me, "wallet_binding")
        brand = line.partition(":")[0]
        if not BRAND.fullmatch(brand) or not AGENT.fullmatch(agent) or line != f"{brand}:wallet:{agent}:{address}":
            raise UnexpectedAnswer("the line to sign has an unknown form; nothing was signed")  # as another chose it
        signature = wallet.sign_text(line)
        yield from self.call("set_wallet_address", address=wallet.address, signature=signature)

    def payments(self) -> Flow[JsonObject]:
        """Return the network of this environment, as the market describes it."""
        if self.network is None:
            info = yield from self.call("get_payments_info", env=self.env)
            self.network = record_at(info, "network")
        return self.network

    def check_spending(self) -> None:
        """Refuse purchases with real money without a limit."""
        if self.env == "live" and self.limit is None:
            raise LimitReached("say how much may be spent in 24 hours: Market(env='live', spend='5.00')")


def _check_url(url: str, env: Env) -> None:
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"{url!r} is no address of a market; it begins with https://")
    if env == "live" and url.startswith("http://") and not is_loopback(url):
        raise ValueError("on live the market's address begins with https://")


def _check_key(key: str | None, env: Env) -> None:
    """Refuse a key of the other environment: live is said in the program, never by a variable."""
    other = "test" if env == "live" else "live"
    if key is not None and not KEY.fullmatch(key):
        raise ValueError("the key given has a space or a character that is not ASCII")
    if key is not None and key.startswith(f"as_{other}_"):
        raise ValueError(f"the key given is for {other}, but the program says env={env!r}")

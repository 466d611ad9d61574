"""Settings from EMPORION_* variables or .env; an invalid value stops the start with a message that names it."""

import difflib
import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from server.setting_types import (
    Address,
    Addresses,
    Brand,
    Contact,
    Database,
    Hex32,
    Origins,
    Places,
    Seconds,
    Secret,
    Url,
    Urls,
)
from storage.vocabulary import Env
from tools.engine.config import Deadlines, Limits, MarketConfig, Network
from tools.kernel.reserved_words import COMMON_BRAND
from tools.kernel.ssrf_guard import BadTarget, judge_target

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
LIVE_USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
TEST_USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
LIVE_IDENTITIES = "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"
TEST_IDENTITIES = "0x8004A818BFB912233c491871b3d84c89A494BD9e"
HOURS_72, MINUTES_15 = 259_200, 900
HOURS_24, MINUTES_10 = 86_400, 600
PREFIX, SQLITE = "EMPORION_", "sqlite:///"
FAUCET = "/v1/sandbox/faucet"
CLAIMS_PER_ADDRESS, MANY = 3, 1000  # all agents of a sandbox share one address
# The variables of the client: an operator's own agents run in the same shell.
CLIENT_VARIABLES = frozenset(f"EMPORION_{name}" for name in ("URL", "HOME", "NAME", "API_KEY", "WALLET_KEY", "RPC_URL"))
PLAIN_WORDS = {
    "int_parsing": "must be a whole number",
    "bool_parsing": "must be true or false",
    "string_too_short": "must have a length of at least {min_length}",
    "string_too_long": "must have a length of at most {max_length}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
}
ALIKE = 0.7  # of 1: below it, a guess at what was meant misleads
# Secrets, and URLs that may contain a key, by how their names end. A new one is hidden too.
HIDDEN = re.compile(r".*(seed|pepper|secret|key|url|urls|lists|endpoint|webhook)")
EVERYWHERE = ("0.0.0.0", "::", "[::]")  # noqa: S104 - refused, not bound


class BadSettings(Exception):
    """The settings are invalid; the message names each one that is wrong."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=".env", extra="ignore", hide_input_in_errors=True)

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65_535)
    base_url: Url | None = None
    extra_base_urls: Urls = []
    data_dir: Path = Path("data")
    database_url: Database | None = None
    database_direct_url: Database | None = None
    read_database_url: Database | None = None
    read_database_lag_seconds: int = Field(5, ge=1, le=3600)
    service_name: Brand = "service"
    signing_seed: Hex32 | None = None
    key_pepper: Hex32 | None = None
    next_signing_seed: Hex32 | None = None
    operator_webhook: Url | None = None
    contact: Contact | None = None
    referrals: Origins = []
    ai_train: bool = False
    operator_secret: Secret | None = None
    live_rpc_url: Url | None = None
    test_rpc_url: Url | None = None
    live_asset: Address = LIVE_USDC
    test_asset: Address = TEST_USDC
    live_identity_registry: Address = LIVE_IDENTITIES
    test_identity_registry: Address = TEST_IDENTITIES
    live_confirmations: int = Field(3, ge=1, le=1000)
    test_confirmations: int = Field(1, ge=1, le=1000)
    live_facilitator_url: Url | None = None
    test_facilitator_url: Url | None = None
    test_faucet_url: Url | None = None
    sanctions_lists: Places = []
    desk_env: Literal["test", "live"] = "test"
    desk_llm_url: Url | None = None
    desk_llm_model: str | None = Field(None, min_length=1, max_length=200)
    desk_llm_key: str | None = Field(None, min_length=1, max_length=1000)
    trusted_proxies: Addresses = []
    sandbox_port: int = Field(8545, ge=0, le=65_535)
    rate_limits: bool = True
    metrics: bool = False
    otel_endpoint: Url | None = None
    agent_storage_mb: int = Field(256, ge=2, le=10_000_000)
    min_free_disk_mb: int = Field(256, ge=1, le=10_000_000)
    allow_private_networks: bool = False
    registrations_per_hour: int = Field(20, ge=1, le=100_000)
    review_window_seconds_live: Seconds = HOURS_72
    review_window_seconds_test: Seconds = MINUTES_15
    payment_window_seconds_live: Seconds = HOURS_72
    payment_window_seconds_test: Seconds = MINUTES_15
    verdict_window_seconds_live: Seconds = HOURS_24
    verdict_window_seconds_test: Seconds = MINUTES_10
    evaluator_min_age_days_live: int = Field(30, ge=0, le=3650)
    accept_timeout_seconds_live: int = Field(3600, ge=60, le=604_800)
    accept_timeout_seconds_test: int = Field(600, ge=60, le=604_800)

    @model_validator(mode="after")
    def _check_together(self) -> "Settings":
        shared = not self.database.startswith(SQLITE)
        if shared and not (self.signing_seed and self.key_pepper):
            raise ValueError(
                "DATABASE_URL is not SQLite: set EMPORION_SIGNING_SEED and EMPORION_KEY_PEPPER too, alike in every process"
            )
        if self.database_direct_url and not (shared and self.database_direct_url.startswith("postgresql://")):
            raise ValueError("DATABASE_DIRECT_URL: both it and EMPORION_DATABASE_URL must be postgresql://…")
        if self.read_database_url and not (shared and self.read_database_url.startswith("postgresql://")):
            raise ValueError("READ_DATABASE_URL: both it and EMPORION_DATABASE_URL must be postgresql://…")
        if self.next_signing_seed and not self.signing_seed:
            raise ValueError(
                "NEXT_SIGNING_SEED goes with EMPORION_SIGNING_SEED; `emporion keys rotate` makes one for a file"
            )
        if self.desk_llm_url is not None and self.desk_llm_model is None:
            raise ValueError("DESK_LLM_URL: set EMPORION_DESK_LLM_MODEL to the model it is asked for")
        if self.host in EVERYWHERE and self.base_url is None:
            raise ValueError("HOST is every address of this machine: set EMPORION_BASE_URL to the one that agents use")
        for origin in self.referrals:
            _judge_referral(origin, self.allow_private_networks, self.url)
        return self

    @property
    def database_shown(self) -> str:
        """The database URL without its password."""
        return re.sub(r"(//[^/@:]*):.*@", r"\1:***@", self.database)

    @property
    def database_file(self) -> Path | None:
        """The SQLite file; None for a database server."""
        return Path(self.database.removeprefix(SQLITE)) if self.database.startswith(SQLITE) else None

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'market.db'}"

    @property
    def session_database(self) -> str:
        """The address of the database for commands, which need a session."""
        return self.database_direct_url or self.database

    @property
    def sanctions_urls(self) -> tuple[str, ...]:
        return tuple(place for place in self.sanctions_lists if "://" in place)

    @property
    def sanctions_files(self) -> tuple[Path, ...]:
        return tuple(Path(place) for place in self.sanctions_lists if "://" not in place)

    @property
    def listening_url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return f"http://{host}:{self.port}"

    @property
    def desk_home(self) -> Path:
        """The home folder of the desk's client: its keys and journal."""
        return self.data_dir / f"desk-{self.desk_env}"

    @property
    def url(self) -> str:
        return self.base_url or self.listening_url

    @property
    def other_urls(self) -> tuple[str, ...]:
        """The further addresses of this service: the configured ones, and all loopback names.

        The loopback names are included only if the service listens on loopback.
        """
        names = ("127.0.0.1", "localhost", "[::1]") if self.is_loopback else ()
        return (*self.extra_base_urls, *(f"http://{name}:{self.port}" for name in names))

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK

    def make_data_dir(self) -> None:
        """Make the data folder if it is missing; raises BadSettings if it cannot be written to."""
        folder = self.data_dir
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except FileExistsError:
            raise BadSettings(f"EMPORION_DATA_DIR: {folder} is a file; name a folder") from None
        except OSError as error:
            raise BadSettings(f"EMPORION_DATA_DIR: {folder} cannot be made: {error.strerror}") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise BadSettings(f"EMPORION_DATA_DIR: {folder} cannot be written to by this user")


def _judge_referral(origin: str, allow_private: bool, own: str) -> None:
    """Raise ValueError for a market that cannot be read, because no request may go there."""
    if urlsplit(origin).hostname == urlsplit(own).hostname:
        raise ValueError(f"REFERRALS: {origin} has the host of this market; name other markets")
    try:
        judge_target(origin, allow_private)
    except BadTarget as bad:
        raise ValueError(f"REFERRALS: {origin}: {bad}") from None


def make_empty(folder: Path) -> None:
    """Make a folder if it is missing; raises BadSettings if it is not empty."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise BadSettings(f"{folder} is not empty: name a folder that is, or one that is not there yet")


def check_named(settings: Settings) -> str | None:
    """Check that a public market has its own brand; return a warning if it is the common one."""
    host = urlsplit(settings.url).hostname or ""
    if host in LOOPBACK or _is_loopback(host):
        return None
    if "service_name" not in settings.model_fields_set:
        raise BadSettings(
            f"EMPORION_SERVICE_NAME: set it, because EMPORION_BASE_URL ({settings.url}) is not this machine. It stands in everything "
            "that wallets and agents sign for this market; without a name of its own, a signature for another market counts here"
        )
    if settings.service_name == COMMON_BRAND:
        return (
            f"EMPORION_SERVICE_NAME: {COMMON_BRAND!r} is the default name of every market: a signature that a wallet gave to another "
            "one of this name counts here too"
        )
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_settings(**given: Any) -> Settings:
    """Read the settings; raises BadSettings with one line for each that is wrong."""
    if "_env_file" not in given:
        _refuse_unknown({*os.environ, *dotenv_values(".env")})
    try:
        return Settings(**given)
    except ValidationError as error:
        raise BadSettings("\n".join(_sentence(fault) for fault in error.errors(include_url=False))) from None


def _refuse_unknown(names: Iterable[str]) -> None:
    """Raise BadSettings for an unknown EMPORION_ name, because a typo would go unnoticed."""
    known = [name.upper() for name in Settings.model_fields]
    for name in sorted(names):
        bare = name.upper().removeprefix(PREFIX)
        if not name.upper().startswith(PREFIX) or bare in known or name.upper() in CLIENT_VARIABLES:
            continue
        near = difflib.get_close_matches(bare, known, n=1, cutoff=ALIKE)
        advice = f"did you mean {PREFIX}{near[0]}?" if near else "docs/settings.md lists all"
        raise BadSettings(f"{name}: there is no such setting; {advice}")


def drop_client_variables() -> None:
    """Remove the client's variables, which name the operator's own agent."""
    for name in CLIENT_VARIABLES:
        os.environ.pop(name, None)


def _sentence(fault: Mapping[str, Any]) -> str:
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not fault["loc"]:
        return PREFIX + message
    name = str(fault["loc"][0])
    if words := PLAIN_WORDS.get(str(fault["type"])):
        message = words.format_map(fault.get("ctx", {}))
    shown = "" if HIDDEN.fullmatch(name) else f" (it is {str(fault['input'])[:80]!r})"
    return f"{PREFIX}{name.upper()}: {message}{shown}"


def config_of(settings: Settings, pepper: bytes, sandbox_rpc_url: str | None = None) -> MarketConfig:
    """Return the configuration that the operations see."""
    return MarketConfig(
        brand=settings.service_name,
        base_url=settings.url,
        version=version("emporion"),
        pepper=pepper,
        networks={Env.LIVE: _live(settings), Env.TEST: _test(settings, sandbox_rpc_url)},
        windows={env: _deadlines(settings, env) for env in Env},
        limits=Limits(
            registrations_per_hour=settings.registrations_per_hour,
            faucet_claims_per_address=CLAIMS_PER_ADDRESS if sandbox_rpc_url is None else MANY,
            storage_bytes=settings.agent_storage_mb * 2**20,
            enforced=settings.rate_limits,
        ),
        other_urls=settings.other_urls,
        operator_secret=settings.operator_secret,
        operator_webhook=settings.operator_webhook,
        evaluator_min_age=timedelta(days=settings.evaluator_min_age_days_live),
        allow_private_networks=settings.allow_private_networks,
        contact=settings.contact,
        referrals=tuple(dict.fromkeys(settings.referrals)),
        ai_train=settings.ai_train,
    )


def _deadlines(settings: Settings, env: Env) -> Deadlines:
    names = ("review_window", "payment_window", "accept_timeout", "verdict_window")
    return Deadlines(*(getattr(settings, f"{name}_seconds_{env.value}") for name in names))


def _live(settings: Settings) -> Network:
    return Network(
        id="eip155:8453",
        chain_id=8453,
        name="Base",
        asset=settings.live_asset,
        asset_name="USD Coin",
        asset_version="2",
        explorer_tx="https://basescan.org/tx/",
        faucet=None,
        confirmations=settings.live_confirmations,
        facilitator_url=settings.live_facilitator_url,
        rpc_hint="https://mainnet.base.org",
        identity_registry=settings.live_identity_registry,
    )


def _test(settings: Settings, sandbox_rpc_url: str | None) -> Network:
    return Network(
        id="eip155:84532",
        chain_id=84532,
        name="Base Sepolia" if sandbox_rpc_url is None else "Sandbox",
        asset=settings.test_asset,
        asset_name="USDC",
        asset_version="2",
        explorer_tx="https://sepolia.basescan.org/tx/" if sandbox_rpc_url is None else None,
        faucet=f"{settings.url}{FAUCET}" if settings.test_faucet_url else "https://faucet.circle.com",
        confirmations=settings.test_confirmations,
        facilitator_url=settings.test_facilitator_url,
        rpc_hint=sandbox_rpc_url or "https://sepolia.base.org",
        own_chain=sandbox_rpc_url is not None,
        identity_registry=settings.test_identity_registry,
    )

"""The types of single settings, with what a value must look like."""

import ipaddress
import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

from tools.chain.wallet_proof import address_of


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("must be an http or https URL without query")
    return text.rstrip("/")


def _origin(text: str) -> str:
    """Validate an address without a path, as the setting of another market."""
    text = _url(text)
    if urlsplit(text).path or "@" in text:
        raise ValueError("must be addresses of markets, without a path")
    return text.lower()


def _matching(pattern: str, rule: str) -> AfterValidator:
    """Return a validator for texts of one form; `rule` tells the operator what the form is."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(rule)
        return text

    return AfterValidator(check)


def _ip(text: str) -> str:
    ipaddress.ip_address(text)
    return text


def _place(text: str) -> str:
    """Validate a file path or a URL; the URL may have a query."""
    parts = urlsplit(text)
    if "://" in text and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError("must be files, or http or https URLs")
    return text


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Url = Annotated[str, AfterValidator(_url)]
Hex32 = Annotated[str, _matching("[0-9a-fA-F]{64}", "must be 64 hex characters"), AfterValidator(str.lower)]
Database = Annotated[str, _matching("sqlite:///.+|postgresql://.+", "must be sqlite:///PATH or postgresql://…")]
Contact = Annotated[
    str,
    _matching(
        r"(https://[a-zA-Z0-9.-]+|mailto:[^\s<>\",;@]{1,64}@[a-zA-Z0-9.-]+)(/[\x21-\x7e]*)?",
        "must be https://… or mailto:…",
    ),
    Field(max_length=500),
]
Brand = Annotated[str, _matching("[a-z0-9][a-z0-9-]{1,30}[a-z0-9]", "must be 3-32 characters of a-z, 0-9 and -")]
Secret = Annotated[str, _matching("(?s).{16,200}", "must have 16 to 200 characters; `openssl rand -hex 32` makes one")]
Address = Annotated[str, AfterValidator(address_of)]
Addresses = Annotated[list[Annotated[str, AfterValidator(_ip)]], NoDecode, BeforeValidator(_split)]
Urls = Annotated[list[Url], NoDecode, BeforeValidator(_split)]
Origins = Annotated[
    list[Annotated[str, AfterValidator(_origin)]], NoDecode, BeforeValidator(_split), Field(max_length=20)
]
Places = Annotated[list[Annotated[str, AfterValidator(_place)]], NoDecode, BeforeValidator(_split)]
Seconds = Annotated[int, Field(ge=1, le=31_536_000)]

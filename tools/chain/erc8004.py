"""ERC-8004 identities: the calls to the registry, and the strict parsing of a node's answers, which are untrusted."""

from dataclasses import dataclass

from eth_utils.address import to_checksum_address

OWNER_OF, TOKEN_URI = "0x6352211e", "0xc87b56dd"  # ownerOf(uint256), tokenURI(uint256) of ERC-721
MAX_TOKEN_ID = 2**256 - 1
MAX_SHOWN = 2048  # characters of a token's URI

_WORD = 64  # hex digits
_NOBODY = "0" * 40


class NoIdentity(Exception):
    """The registry does not have this token."""


class Unreadable(ValueError):
    """An answer of the node that an identity registry cannot give."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A token as the registry describes it."""

    token: str  # decimal
    owner: str  # EIP-55
    uri: str  # at most MAX_SHOWN characters of it


def call_data(selector: str, token: str) -> str:
    """Return the call data of a function that takes the token's number."""
    return f"{selector}{int(token):0{_WORD}x}"


def identity(token: str, owner: str | None, uri: str | None) -> Identity:
    """Build an identity from both answers; None is a call that failed.

    Raises NoIdentity for a token without owner, Unreadable for malformed answers. A URI that is too long to be read
    within the gas of a call becomes "".
    """
    if owner is None:
        raise NoIdentity
    return Identity(token, _address(owner), "" if uri is None else _text(uri))


def registration_url(base_url: str, agent_id: str) -> str:
    """Return the URL of the registration file that a token must name to be this agent's."""
    return f"{base_url}/agents/{agent_id}/erc8004.json"


def caip10(network_id: str, registry: str) -> str:
    """Return the registry as CAIP-10: `eip155:8453:0x8004…`."""
    return f"{network_id}:{registry}"


def _address(answer: str) -> str:
    digits = answer.removeprefix("0x")
    if len(digits) != _WORD or digits[:24] != "0" * 24 or digits[24:] == _NOBODY:
        raise Unreadable("ownerOf answered no address")
    return to_checksum_address("0x" + digits[24:])


def _text(answer: str) -> str:
    """Decode an ABI string: offset 32, its length in bytes, then the bytes.

    At most MAX_SHOWN characters are decoded.
    """
    digits = answer.removeprefix("0x")
    if len(digits) < 2 * _WORD or int(digits[:_WORD], 16) != 32:
        raise Unreadable("tokenURI answered no string")
    length = int(digits[_WORD : 2 * _WORD], 16)
    if length > len(digits) // 2 - _WORD:
        raise Unreadable("tokenURI answered a string longer than its answer")
    shown = bytes.fromhex(digits[2 * _WORD : 2 * _WORD + 2 * min(length, 4 * MAX_SHOWN)])
    return shown.decode("utf-8", "replace").replace("\0", "\ufffd")[:MAX_SHOWN]

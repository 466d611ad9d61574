"""Changes that no test can notice, because the changed code behaves the same; each has a reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Excuse:
    """One change: its module and function, the exact change, and why behaviour is the same."""

    module: str
    function: str  # "" at module level
    change: str
    reason: str

    @property
    def name(self) -> str:
        """Return the same name as `Change.name`."""
        return f"{self.module}:{self.function}: {self.change}"


_COUNTED_LATER = "`buyers` of this sum is replaced two lines on by the count of the wallets."
EXCUSES: tuple[Excuse, ...] = (
    Excuse(
        "tools.listings.stats_rules",
        "tallied_with_wallets",
        "tally = apply_change(tally, Result(), result, 0) -> tally = apply_change(tally, Result(), result, 1)",
        _COUNTED_LATER,
    ),
    Excuse(
        "tools.listings.stats_rules",
        "tallied_with_wallets",
        "tally = apply_change(tally, Result(), result, 0) -> tally = apply_change(tally, Result(), result, -1)",
        _COUNTED_LATER,
    ),
    Excuse(
        "tools.jobs.lifecycle",
        "_holds",
        "return False -> return None",
        "Its answers are only counted by any(), which takes both for no.",
    ),
    Excuse(
        "tools.chain.transfer_verification",
        "_net",
        "back = sum((move.amount_minor for move in transfers if move.payee in payers and move.payer not in payers and "
        "(move.payer in payees or move.log_index > first))) -> "
        "back = sum((move.amount_minor for move in transfers if move.payee in payers and move.payer not in payers and "
        "(move.payer in payees or move.log_index >= first)))",
        "The transfer at `first` goes to a payee, and no payee is a payer.",
    ),
    Excuse(
        "tools.chain.transfer_verification",
        "_address_in",
        "int(word[2:26], 16) -> int(word[2:26], 17)",
        "Hex digits are zero in base 17 exactly where they are in base 16, and only that is asked.",
    ),
    Excuse(
        "tools.events.webhooks.rules",
        "Attempted.error",
        "followed = ': redirects are not followed' if 300 <= self.status < 400 else '' -> "
        "followed = ': redirects are not followed' if 299 <= self.status < 400 else ''",
        "A delivery with status 299 was taken, which is answered two lines above.",
    ),
    Excuse(
        "tools.purchases.quotes",
        "",
        "MAX_HEADER = 7900 -> MAX_HEADER = 7901",
        "The header is base64, so its length is a multiple of four: 7900 is the longest either way.",
    ),
    Excuse(
        "tools.chain.x402_payments",
        "",
        "MAX_SIGNATURE = 4096 -> MAX_SIGNATURE = 4097",
        "The pattern takes whole bytes, so that the longest text of hex digits is even either way.",
    ),
    Excuse(
        "tools.chain.x402_payments",
        "_lies_under",
        "return False -> return None",
        "Its answers are only counted by any(), which takes both for no.",
    ),
    Excuse(
        "tools.chain.x402_payments",
        "_origin",
        "return (url.scheme, url.hostname, port, '@' in url.netloc) -> "
        "return (url.scheme, url.hostname, port, '@' not in url.netloc)",
        "Two origins are only compared with each other, and the change turns this part of both.",
    ),
    Excuse(
        "tools.chain.x402_payments",
        "_is_use",
        "return False -> return None",
        "Its answers are only counted by any(), which takes both for no.",
    ),
    Excuse(
        "tools.chain.x402_payments",
        "read_authorization",
        "_matching(found, 'nonce', _NONCE, '0x and 64 hex', 66).lower() -> "
        "_matching(found, 'nonce', _NONCE, '0x and 64 hex', 67).lower()",
        "The pattern takes exactly 66 characters whatever the bound.",
    ),
    Excuse(
        "tools.chain.x402_payments",
        "_number",
        "number = int(_matching(found, name, _NUMBER, 'a whole number as text', 78)) -> "
        "number = int(_matching(found, name, _NUMBER, 'a whole number as text', 79))",
        "The pattern takes at most 78 digits whatever the bound.",
    ),
    Excuse(
        "tools.chain.x402_payments",
        "_text",
        "not isinstance(inner, str) or len(inner) > MAX_HEADER -> not isinstance(inner, str) or len(inner) >= MAX_HEADER",
        "A text of 16384 characters does not come in base64 within a header of 16384 characters.",
    ),
)

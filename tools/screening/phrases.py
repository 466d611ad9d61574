"""The rules of screening: which words of the vocabularies, near one another, are an attack, and its code."""

from functools import cache

from tools.screening.phrase_rules import Clauses, Near, Rule, Vocabulary, vocabulary

_REFUSED = Near("~not", 9, 0)  # "never …"
_REFUSED_BEHIND = Near("not_behind", 0, 5)
_TOLD_OF = Near("reported", 30, 0)
_TOLD_BEHIND = Near("reported_behind", 0, 14)
_OWN = Near("mine", 1, 2)
_BY_US = Near("doer", 1, -1)
_TALK = (_REFUSED, _TOLD_OF, _TOLD_BEHIND)

_OVERRIDE, _ROLE, _ASK, _ALERT = "instruction_override", "role_hijack", "credential_request", "fake_system_alert"
_CLAIM, _TOOL = "authority_claim", "tool_instruction"
_DENIED = Near("denied", 6, 3)
RULES = (
    Rule(_OVERRIDE, "dismiss", (Near("orders|rules", 9, 9, alone=False), Near("prior", 10, 10)), (*_TALK, _REFUSED_BEHIND, _OWN, _BY_US, Near("thing", 0, 0))),
    Rule(_OVERRIDE, "dismiss", (Near("orders", 6, 6), Near("all|your", 7, 7)), (*_TALK, _REFUSED_BEHIND, _OWN, _BY_US)),
    Rule(_OVERRIDE, "dismiss", (Near("rules", 3, 3), Near("your", 3, 3)), (*_TALK, _REFUSED_BEHIND, _OWN, _BY_US)),
    Rule(_OVERRIDE, "dismiss", (Near("all_said", 8, 5),), (*_TALK, _REFUSED_BEHIND, Near("subject", 0, 0))),
    Rule(_OVERRIDE, "dismiss", (Near("all_said", 8, 5), Near("orders|rules|own_prompt", 0, 12)), (*_TALK, _REFUSED_BEHIND)),
    Rule(_OVERRIDE, "dismiss", (Near("above", 0, 2), Near("bidding", 0, 12)), (*_TALK, _REFUSED_BEHIND, _BY_US), across=True),
    Rule(_OVERRIDE, "i_order", (Near("authority|principal", 14, 10),), _TALK),
    Rule(_OVERRIDE, "heed", (Near("orders|rules", 0, 8), Near("prior|your|all", 0, 8), Near("not_behind", 0, 12)), _TALK),
    Rule(_OVERRIDE, "new_orders", (), _TALK),
    Rule(_OVERRIDE, "reveal", (Near("own_prompt", 6, 6),), (*_TALK, _REFUSED_BEHIND, _BY_US)),
    Rule(_OVERRIDE, "conceal", (Near("principal", 7, 7),), (_REFUSED, _TOLD_OF, Near("giver", 2, -1))),
    Rule(_OVERRIDE, "pay_out", (Near("everything_owned", 7, 7),), (*_TALK, _REFUSED_BEHIND)),
    Rule(_OVERRIDE, "pay_out", (Near("elsewhere", 4, 12),), (*_TALK, _REFUSED_BEHIND, Near("giver", 2, -1))),
    Rule(_OVERRIDE, "reader", (Near("favour", 0, 25),), (_TOLD_OF,), across=True),
    Rule(_OVERRIDE, "approve", (Near("unseen", 8, 8),), (*_TALK, _REFUSED_BEHIND, Near("giver", 3, -1))),
    Rule(_ROLE, "now_you", (Near("unbound|power", 8, 14),), (_TOLD_OF, _TOLD_BEHIND, Near("third", 1, -1))),
    Rule(_ROLE, "act_as", (Near("unbound", 0, 8),), (_REFUSED, _TOLD_OF, Near("third", 2, -1))),
    Rule(_ROLE, "never_again", (Near("bonds", 0, 8),), (_TOLD_OF,)),
    Rule(_ROLE, "lifted", (Near("limits", 6, 6), Near("your|all", 6, 6)), (*_TALK, Near("gadget|mine|giver", 3, 6))),
    Rule(_ROLE, "obey", (Near("your|now_you|me", 10, 10),), (*_TALK, Near("giver", 2, -1))),
    Rule(_ROLE, "mode", (Near("turn_on", 6, 5),), (*_TALK, Near("gadget|third", 6, 8))),
    Rule(_ASK, "give", (Near("keys|secret", 7, 9), Near("me|your", 9, 12)), (*_TALK, _REFUSED_BEHIND, Near("giver", 1, -1), Near("topic", 0, 2), Near("asked", 0, 0), Near("offer", 3, 5))),
    Rule(_ASK, "give", (Near("keys", 6, 6),), (*_TALK, _REFUSED_BEHIND, Near("giver", 2, -1), Near("topic|mine", 1, 1), Near("offer", 3, 5))),
    Rule(_CLAIM, "in_its_name", (Near("market", 0, 6),), (_DENIED, _TOLD_OF)),
    Rule(_CLAIM, "own_mark", (), (_DENIED, _TOLD_OF)),
    Rule(_TOOL, "juror", (Near("votes", 8, 8), Near("bribed", 12, 14)), (_DENIED, _TOLD_OF)),
    Rule(_TOOL, "full_marks", (Near("rate", 6, 4), Near("unread", 14, 14)), (_REFUSED, _TOLD_OF, _BY_US)),
    Rule(_ALERT, "account", (Near("threat", 5, 10), Near("demand|urgent", 18, 18)), (_TOLD_OF, Near("if", 3, 2))),
    Rule(_ALERT, "account", (Near("threat", 4, 8), Near("authority|official", 20, 8)), (_TOLD_OF, Near("if", 3, 2)), across=True),
    Rule(_ALERT, "official", (Near("authority", 6, 6), Near("demand", 0, 20)), (_TOLD_OF,), across=True),
    Rule(_ALERT, "authority", (Near("notice", 4, 4), Near("demand", 8, 25), Near("urgent|threat|account", 25, 25)), (_TOLD_OF,), across=True),
    Rule(_ALERT, "authority", (Near("demand", 10, 14), Near("urgent", 20, 20), Near("threat|account", 25, 25)), (_TOLD_OF,), across=True),
)  # fmt: skip
NAMES = ("common", "override", "loyalty", "role", "credentials", "alerts", "market")


@cache
def vocabularies() -> tuple[Vocabulary, ...]:
    """Read the vocabularies of the rules."""
    return tuple(map(vocabulary, NAMES))


@cache
def clauses() -> Clauses:
    """Return the rules with their vocabularies.

    They are made at the first text, because that takes a tenth of a second.
    """
    return Clauses(vocabularies(), RULES)

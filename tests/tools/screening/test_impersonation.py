"""Names that imitate the operator, in common disguises, are refused; ordinary names stay allowed."""

import pytest

from tests.requirements import covers
from tools.kernel.reserved_words import reserved_word


@covers("second.names.words", "second.names.look_alikes")
@pytest.mark.parametrize(
    "name",
    [
        "Operator", "the operator", "operator-7", "operator7", "x_operator_x", "Emporion Operator", "EmporionBot",
        "emporion", "OFFICIAL support", "0fficial", "off1cial", "officia1", "0perat0r", "оperator", "Оperаtor",
        "ｏｐｅｒａｔｏｒ", "O p e r a t o r", "oper-ator", "o.p.e.r.a.t.o.r", "Opérator", "oper\u200bator", "Staff", "5taff",
        "$taff", "st@ff", "rnoderator", "m0derator", "Mοderatοr", "em porion", "Acme", "acme-bot", "4cme", "Operator!",
    ],
)  # fmt: skip
def test_what_passes_for_the_operator_is_found(name: str) -> None:
    assert reserved_word(name, "acme") is not None


@covers("second.names.brand")
def test_a_brand_is_reserved_in_pieces_unless_it_is_the_default() -> None:
    assert reserved_word("Green Market desk", "green-market") == "green-market"
    assert reserved_word("Market of greens", "green-market") is None
    assert reserved_word("Translation service", "service") is None


@covers("second.names.free")
@pytest.mark.parametrize(
    "name",
    ["Cooper", "Operational research", "Officialese checker", "Staffordshire", "Moderation bot", "Emporia", "太郎", "!!!",
     "A1", "Wallet 0x0f"],
)  # fmt: skip
def test_ordinary_names_stay_free(name: str) -> None:
    assert reserved_word(name, "acme") is None

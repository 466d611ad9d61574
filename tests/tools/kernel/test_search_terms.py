"""Words in every script are split in the same way for indexing and for searching; pages of results are fair."""

import time
import unicodedata
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.kernel.search_terms import MAX_CHARACTERS, MAX_INDEX_TERMS, MAX_QUERY_TERMS, fold, index_terms, query_terms
from tools.listings.interleave import interleave


@pytest.mark.parametrize(
    "q, terms",
    [
        ("Translate English text", ("translate", "english", "text")),
        ("text, TEXT and Text", ("text",)),
        ("Café ÀÉÎ Straße", ("cafe", "aei", "strasse")),
        ("e\u0301tude étude", ("etude",)),
        ("ΣΊΣΥΦΟΣ σισυφος", ("σισυφοσ",)),
        ("Привет ёлка Ёлка", ("привет", "елка")),
        ("ﬁne ＡＢＣ ①", ("fine", "abc", "1")),
        ("İstanbul IŞIK", ("istanbul", "isik")),
        ("機械翻訳AI", ("機械", "械翻", "翻訳", "ai")),
        ("翻", ("翻",)),
        ("ひらがなカタカナ", ("ひら", "らが", "がな", "なカ", "カタ", "タカ", "カナ")),
        ("ｶﾞｲﾄﾞ か\u3099", ("ガイ", "イド", "が")),
        ("번역을", ("번역", "역을")),
        ("บริการแปล", ("บริ", "ริก", "กา", "าร", "รแ", "แป", "ปล")),
        ("ភាសា", ("ភាសា",)),
        ("हिन्दी में अनुवाद", ("हिन्दी", "में", "अनुवाद")),
        ("தமிழ் மொழி", ("தமிழ்", "மொழி")),
        ("مُحَمَّد العربيّة العـــربية", ("محمد", "العربية")),
        ("שָׁלוֹם", ("שלום",)),
        ("می\u200cخواهم", ("میخواهم",)),
        ("٣٤ ५ 12", ("34", "5", "12")),
        ("soft\u00adhyphen zero\u200bwidth", ("softhyphen", "zero", "width")),
        ("c++ C# f# g++/clang++", ("c++", "c#", "f#", "g++", "clang++")),
        ("c++11 a+b c+++ #tag", ("c", "11", "b", "tag")),
        ("a-b snake_case don't", ("b", "snake", "case", "don", "t")),
        ("I want to translate a text", ("want", "translate", "text")),
        ("to be for me", ("to", "be", "for", "me")),
        ("to be", ("to", "be")),
        ('"x', ("x",)),
        ("foo AND", ("foo",)),
        ("NOT near(x, y)*", ("not", "near", "x", "y")),
        ("\0abc\0", ("abc",)),
        ("\ud800abc", ("abc",)),
        ("*", ()),
        ("", ()),
        ("\u0301\u093f", ()),
        ("\U0001f600" * 200, ()),
        ("x" * 300, ("x" * MAX_CHARACTERS,)),
        (" ".join(f"w{n}" for n in range(99)), tuple(f"w{n}" for n in range(MAX_QUERY_TERMS))),
        (" " * 200 + "late", ()),
    ],
)
def test_a_question_is_cut_into_the_terms_a_reader_of_its_script_expects(q: str, terms: tuple[str, ...]) -> None:
    assert query_terms(q) == terms


def test_a_listing_is_found_by_its_words_its_pairs_and_the_single_characters_of_its_title() -> None:
    terms = index_terms("機械翻訳 C++", "深い学習 in Café, c#", ["x y"], "text")
    assert terms == (
        *("機械", "械翻", "翻訳", "機", "械", "翻", "訳", "c++", "c", "text", "x", "y"),
        *("深い", "い学", "学習", "in", "cafe", "c#"),
    )


@given(st.text(max_size=60), st.text(max_size=200), st.lists(st.text(max_size=20), max_size=4))
def test_a_listing_is_found_by_any_part_of_it_typed_whole(title: str, description: str, tags: list[str]) -> None:
    terms = set(index_terms(title, description, tags, "text"))
    for text in (title, description, *tags):
        assert set(query_terms(text)) <= terms


@given(st.text(max_size=300))
def test_terms_hold_no_space_no_control_and_no_sign_that_a_database_reads(text: str) -> None:
    for term in (*query_terms(text), *index_terms(text, text, [text], text)):
        kinds = {unicodedata.category(character) for character in term.rstrip("+#")}
        assert {kind[0] for kind in kinds} <= {"L", "N", "M"}
        assert term == term.lower() or not term.isascii()
        assert 0 < len(term) <= 2 * MAX_CHARACTERS


@given(st.text(max_size=10))
def test_the_four_normal_forms_of_a_text_are_one_question(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert len({fold(form) for form in forms}) == 1
    assert len({query_terms(form) for form in forms}) == 1


@pytest.mark.parametrize(
    "description",
    ["\ufdfa" * 4000, "a" + "\u0301\u0316" * 2000, "\u0301" * 4000, "က" + "\u103e" * 3999, "語" * 4000, "+#" * 2000],
)
def test_a_description_made_to_be_slow_is_cut_quickly(description: str) -> None:
    began = time.thread_time()
    terms = index_terms("title", description, [], "text")
    assert time.thread_time() - began < 0.2
    assert len(terms) <= MAX_INDEX_TERMS
    assert all(len(term) <= 2 * MAX_CHARACTERS for term in terms)


def test_a_listing_has_a_bounded_number_of_terms_and_its_title_goes_first() -> None:
    terms = index_terms("the title", " ".join(f"w{n}" for n in range(2000)), [], "text")
    assert terms == ("the", "title", "text", *(f"w{n}" for n in range(MAX_INDEX_TERMS - 3)))


class Offer(NamedTuple):
    seller_id: str
    place: int


def offers(sellers: str) -> list[Offer]:
    return [Offer(seller, place) for place, seller in enumerate(sellers)]


@pytest.mark.parametrize(
    "given_order, fair",
    [
        ("", ""),
        ("abc", "abc"),
        ("aaa", "aaa"),
        ("aaabc", "abaca"),
        ("aabbcc", "ababcc"),
        ("baaaa", "baaaa"),
        ("aaaabbbc", "abababac"),
    ],
)
def test_a18_one_seller_does_not_stand_in_a_row_while_others_wait(given_order: str, fair: str) -> None:
    assert "".join(offer.seller_id for offer in interleave(offers(given_order))) == fair


@given(st.text("abcd", max_size=40))
def test_a18_a_fair_page_holds_the_same_hits_and_each_sellers_in_their_order(sellers: str) -> None:
    page = offers(sellers)
    fair = interleave(page)
    assert sorted(fair, key=lambda offer: offer.place) == page
    for seller in "abcd":
        places = [offer.place for offer in fair if offer.seller_id == seller]
        assert places == sorted(places)
    for place, (left, right) in enumerate(pairwise(fair), 1):
        if left.seller_id == right.seller_id:
            assert {offer.seller_id for offer in fair[place:]} == {left.seller_id}

"""Screening of text that agents write for other agents: injection, phishing, leaked secrets, hidden characters.

Heuristics: they read a text as a model would (NFKC, invisible characters taken out), know phrases of many languages, and refuse no
language. A phrase is found by a literal beginning and then matched at that place with bounded repetition: linear time.
"""

from enum import StrEnum

from tools.rules.jsontext import Json

MAX_SCREENED = 100_000  # characters of a text, or of all texts of a value together
MAX_STRINGS, MAX_VALUE_DEPTH = 200, 8
MAX_URLS = 8


class Code(StrEnum):
    """The codes of content_warnings, in the order they are listed."""

    INSTRUCTION_OVERRIDE = "instruction_override"
    SYSTEM_PROMPT_REFERENCE = "system_prompt_reference"
    ROLE_HIJACK = "role_hijack"
    CREDENTIAL_REQUEST = "credential_request"
    CREDENTIAL_MENTION = "credential_mention"
    LEAKED_CREDENTIAL = "leaked_credential"
    SHELL_PIPE = "shell_pipe"
    EXEC_PATTERN = "exec_pattern"
    BASE64_BLOB = "base64_blob"
    HIDDEN_UNICODE = "hidden_unicode"
    FAKE_SYSTEM_ALERT = "fake_system_alert"
    TOOL_CALL_SMUGGLING = "tool_call_smuggling"
    EXCESSIVE_URLS = "excessive_urls"


# Refused with content_rejected in listings, bounties and proposals; elsewhere only leaked_credential is.
REFUSED: frozenset[str] = frozenset({
    Code.INSTRUCTION_OVERRIDE, Code.ROLE_HIJACK, Code.CREDENTIAL_REQUEST, Code.LEAKED_CREDENTIAL, Code.SHELL_PIPE,
    Code.HIDDEN_UNICODE, Code.TOOL_CALL_SMUGGLING,
})  # fmt: skip


def warnings(text: str) -> list[str]:
    """The codes a text earns, in the order of `Code`; of a longer text the first 100 000 characters count."""
    text = text[:MAX_SCREENED]
    found = _codes_of(_visible(text)) | ({Code.HIDDEN_UNICODE} if hides(text) else set())
    return [code.value for code in Code if code in found]


def warnings_in(value: Json) -> list[str]:
    """The codes of the texts in a JSON value, names included: its first 200 strings down to depth 8, 100 000 characters in all."""
    texts: list[str] = []
    room = MAX_SCREENED
    for name, text in _strings(value):
        texts.append(f"{name}: {text[:room]}" if name else text[:room])
        room -= len(texts[-1])
        if room <= 0 or len(texts) == MAX_STRINGS:
            break
    found = _codes_of(_visible("\n".join(texts))) | ({Code.HIDDEN_UNICODE} if any(map(hides, texts)) else set())
    return [code.value for code in Code if code in found]


def hides(text: str) -> bool:
    """Whether a text holds what a reader cannot see but a model reads.

    That is: a tag character (U+E0000-E007F), a bidirectional control left open at the end of a paragraph, four zero-width characters
    in a row, or more than 2 % of them. Not counted: what joins an emoji, or letters of a script that is written with joiners.
    """
    if text.isascii():
        return False
    counted = _EXCUSED.sub("", text)
    if _RIGHT_TO_LEFT.search(text):
        counted = _LONE_MARK.sub("", counted)
    zero_width = len(counted) - len(_ZERO_WIDTH.sub("", counted))
    return bool(_TAG.search(counted) or _RUN.search(counted)) or zero_width > 0.02 * len(text) or _leaves_bidi_open(text)

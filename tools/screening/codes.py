"""The codes of content_warnings, and which of them are refused in public texts."""

from enum import StrEnum


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
    PAYMENT_REDIRECTION = "payment_redirection"
    AUTHORITY_CLAIM = "authority_claim"
    TOOL_INSTRUCTION = "tool_instruction"


# Refused with content_rejected in listings, bounties and proposals. Elsewhere only leaked_credential is refused.
REFUSED: frozenset[str] = frozenset({
    Code.INSTRUCTION_OVERRIDE, Code.ROLE_HIJACK, Code.CREDENTIAL_REQUEST, Code.LEAKED_CREDENTIAL, Code.SHELL_PIPE,
    Code.HIDDEN_UNICODE, Code.TOOL_CALL_SMUGGLING, Code.PAYMENT_REDIRECTION,
})  # fmt: skip
# Schemas and examples may hold addresses beside such words, so this code is only a warning there.
REFUSED_IN_DATA: frozenset[str] = REFUSED - {Code.PAYMENT_REDIRECTION}

"""Authentication in openapi.json: API keys, signatures, and the OAuth token endpoint."""

from collections.abc import Callable
from typing import Any

from rest.openapi_examples import recorded
from tools.engine.access_tokens import LIFE_SECONDS
from tools.engine.caller import SCOPES
from tools.engine.client_assertions import TYPE
from tools.engine.config import MarketConfig
from tools.engine.oauth import ENV_SCOPES, SCOPES_ARE, TOKEN_PATH
from tools.engine.registry import Auth

Schema = dict[str, Any]
LOGIN = "oauth"
BEARER, HEADER_KEY, SIGNED = {"bearer": list[str]()}, {"apiKey": list[str]()}, {"signature": list[str]()}
OAUTH = {"oauth": list[str]()}
SECURITY: dict[Auth, list[dict[str, list[str]]]] = {
    "none": [],
    "optional": [{}, BEARER, HEADER_KEY, SIGNED, OAUTH],
    "key": [BEARER, HEADER_KEY, SIGNED, OAUTH],
    "signed": [SIGNED],
    "admin": [{"adminToken": []}],
}
KEY_IS = "An API key, as_live_… or as_test_…: it decides the environment."
SIGNATURE_IS = """\
A request signed with the agent's Ed25519 key (RFC 9421), instead of an API key. It comes with

    Signature-Input: sig1=("@method" "@target-uri" "content-digest");created=<unix seconds>;keyid="<agent id, handle or did:key>";alg="ed25519"
    Signature: sig1=:<base64>:
    Content-Digest: sha-256=:<base64>:     with a body
    X-Env: test                            or live, which is the default

`@target-uri` is the address under `servers`. `created` is within 300 seconds of the market's clock. What is not GET or HEAD is taken
once: a signature, or its `nonce`, that comes again is refused. An API key beside a signature decides alone, except where only
a signature is taken.\
"""
OAUTH_IS = f"""\
An access token, oat_…, for {LIFE_SECONDS // 60} minutes, wherever an API key is taken. It ends with what it was given for: the API key, or the
agent's root key. One that does not hold is answered with 401 on every surface, so that a client gets another.\
"""
LOGIN_IS = """\
OAuth 2.0 client credentials, as a form or as JSON. The client is an agent: its id, handle or did:key. It authenticates in one of two ways:

- with an API key as client_secret, in the body or as HTTP Basic: the token is for that key's environment and has its scopes at most;
- with a JWT signed by its Ed25519 key as client_assertion (RFC 7523): alg EdDSA, iss = sub = the agent, aud = the issuer or
  this address, exp at most 300 seconds ahead, jti used once: the token is for test unless the scope says env:live.

Answers and errors are those of RFC 6749. 60 a minute.\
"""
ERRORS = (
    "invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope", "invalid_target", "temporarily_unavailable",
)  # fmt: skip
TEXT: Schema = {"type": "string"}


def security_schemes(config: MarketConfig) -> Schema:
    """Return every authentication scheme."""
    flow = {"tokenUrl": config.base_url + TOKEN_PATH, "scopes": SCOPES_ARE}
    return {
        "bearer": {"type": "http", "scheme": "bearer", "description": KEY_IS},
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": KEY_IS},
        "signature": {"type": "apiKey", "in": "header", "name": "Signature", "description": SIGNATURE_IS},
        "oauth": {"type": "oauth2", "flows": {"clientCredentials": flow}, "description": OAUTH_IS},
        "adminToken": {
            "type": "apiKey", "in": "header", "name": "X-Admin-Token", "description": "The operator's secret.",
        },
    }  # fmt: skip


def login_path(define: Callable[[str, Schema], Schema]) -> Schema:
    """Return the entry of the token endpoint.

    `define` names a schema and returns a reference to it. The endpoint is not an operation: its parameters and
    answers are those of OAuth.
    """
    called = recorded()["get_access_token"]
    body = {"schema": define("ClientCredentials", _login()), "example": called["arguments"]}
    refused = define("LoginRefusal", _record(error={"type": "string", "enum": list(ERRORS)}, error_description=TEXT))
    responses = {"200": _answer("An access token.", define("AccessToken", _granted()), example=called["answer"])}
    for status, why in (
        ("400", "The request cannot be granted as it stands."),
        ("401", "invalid_client: who asks was not proven. WWW-Authenticate names Basic."),
        ("405", "Another method than POST."),
        ("429", "temporarily_unavailable: more than 60 in a minute; Retry-After says when."),
        ("503", "temporarily_unavailable: too busy; Retry-After says when."),
    ):
        responses[status] = _answer(why, refused)
    entry = {
        "operationId": "get_access_token",
        "summary": "Log in with OAuth client credentials.",
        "description": LOGIN_IS,
        "tags": [LOGIN],
        "security": [],
        # One kind of body: what openapi-python-client writes for two cannot be imported.
        "requestBody": {"required": True, "content": {"application/x-www-form-urlencoded": body}},
        "responses": responses,
    }
    return {TOKEN_PATH: {"post": entry}}


def _login() -> Schema:
    """Return the schema of a token request."""
    fields: Schema = {
        "grant_type": {"const": "client_credentials"},
        "client_id": {
            "type": "string",
            "description": "agent id, handle or did:key; left out with Basic or an assertion",
        },
        "client_secret": {"type": "string", "description": "an API key of that agent"},
        "client_assertion_type": {"const": TYPE},
        "client_assertion": {"type": "string", "maxLength": 4096, "description": "a JWT signed by the agent's key"},
        "scope": {"type": "string", "description": f"of {' '.join((*ENV_SCOPES, *SCOPES))}, parted by spaces"},
        "resource": {"type": "string", "format": "uri", "description": "an address of this market (RFC 8707)"},
    }
    return {"type": "object", "required": ["grant_type"], "properties": fields}


def _granted() -> Schema:
    seconds = {"type": "integer", "minimum": 0, "maximum": LIFE_SECONDS, "description": "seconds"}
    granted = {"type": "string", "description": "what was granted"}
    return _record(access_token=TEXT, token_type={"const": "Bearer"}, expires_in=seconds, scope=granted, agent_id=TEXT)


def _record(**fields: Schema) -> Schema:
    return {"type": "object", "required": list(fields), "properties": fields, "additionalProperties": False}


def _answer(description: str, schema: Schema, **more: Any) -> Schema:
    return {"description": description, "content": {"application/json": {"schema": schema, **more}}}

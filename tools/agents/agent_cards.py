"""A2A agent cards: the fields that all cards of this market share, and their signature."""

from typing import Any

import orjson

from tools.engine.config import MarketConfig
from tools.engine.oauth import SCOPES_ARE, SERVER_PATH, TOKEN_PATH
from tools.engine.ports import Signer
from tools.kernel.base64url import base64url
from tools.kernel.canonical_json import canonical
from tools.kernel.keys import jwk_of

Card = dict[str, Any]
KINDS = ["application/json", "text/plain"]
X402_URI = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2"
X402: Card = {
    "uri": X402_URI,
    "description": "Orders are paid in USDC. Scheme transaction-proof: the hash of your own transfer. Scheme exact, only for the "
    "operator's listings: one signed authorization and no account, if you activate this extension.",
    "required": False,
}


def card_of(
    config: MarketConfig, name: str, description: str, skills: list[Card], *, at: str = "/a2a", **capabilities: Any
) -> Card:
    """Return an unsigned A2A 1.0 card; `skills` is the only member that may be empty."""
    login = {"tokenUrl": config.base_url + TOKEN_PATH, "scopes": SCOPES_ARE}
    return {
        "name": name,
        "description": description,
        "version": config.version,
        "provider": {"organization": config.title, "url": config.base_url},
        "documentationUrl": f"{config.base_url}/llms.txt",
        "supportedInterfaces": [
            {"url": config.base_url + at, "protocolBinding": binding, "protocolVersion": "1.0"}
            for binding in ("JSONRPC", "HTTP+JSON")
        ],
        "capabilities": {"streaming": True, "pushNotifications": True, "extendedAgentCard": True}
        | capabilities
        | {"extensions": [*capabilities.get("extensions", []), X402]},
        "securitySchemes": {
            "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "An API key of this market."}},
            "apiKey": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
            "oauth": {
                "oauth2SecurityScheme": {
                    "flows": {"clientCredentials": login},
                    "oauth2MetadataUrl": config.base_url + SERVER_PATH,
                }
            },
        },
        "defaultInputModes": KINDS,
        "defaultOutputModes": KINDS,
        "skills": skills,
    }


def signed(card: Card, base_url: str, signer: Signer) -> Card:
    """Return the card with its signature (A2A 1.0, 8.4), a detached JWS over the unsigned card.

    The JWS follows RFC 7515 with EdDSA of RFC 8037. The payload is the RFC 8785 form without empty members; only the
    top level is stripped, so the members of `card` must not contain empty ones, and `required: false` of an extension,
    which is the default. The key is found in the JWKS by `kid`.
    """
    jwk = jwk_of(signer.public_key)
    offered = card["capabilities"]
    plain = [{name: value for name, value in one.items() if value is not False} for one in offered["extensions"]]
    header = {"alg": jwk["alg"], "kid": jwk["kid"], "jku": f"{base_url}/.well-known/jwks.json", "typ": "JOSE"}
    payload = canonical(
        {name: value for name, value in card.items() if value != []} | {"capabilities": offered | {"extensions": plain}}
    )
    protected, body = base64url(orjson.dumps(header)), base64url(payload)
    signature = base64url(signer.sign(f"{protected}.{body}".encode()))
    return {**card, "signatures": [{"protected": protected, "signature": signature}]}

"""OAuth: endpoints, metadata (RFC 8414, RFC 9728), scopes, resources, challenges and error responses."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from tools.engine.caller import SCOPES, beyond
from tools.engine.client_assertions import ALGORITHMS
from tools.kernel.http_signatures import authority_of

TOKEN_PATH, AUTHORIZE_PATH = "/v1/oauth/token", "/v1/oauth/authorize"
SERVER_PATH, RESOURCE_PATH = "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource"
OPEN_MCP, CLOSED_MCP, A2A = "/mcp", "/mcp/oauth", "/a2a"
RESOURCES = ("", OPEN_MCP, CLOSED_MCP, A2A)
ENVS = ("test", "live")
ENV_SCOPES = tuple(f"env:{env}" for env in ENVS)
SCOPES_ARE = {
    **{f"env:{env}": f"the {env} environment" for env in ENVS},
    **{scope: f"what an API key with the scope {scope} may do" for scope in SCOPES},
}
MAX_SCOPE_LENGTH, MAX_RESOURCES = 512, 10
Headers = Iterable[tuple[bytes, bytes]]


class OAuthRefusal(Exception):
    """An OAuth error response (RFC 6749, 5.2); `error` is one of its codes."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error, self.description = error, description
        self.status = 401 if error == "invalid_client" else 400


def spelled(urls: Sequence[str], headers: Headers) -> str:
    """Return the base URL of the market that a request used.

    What a client is sent must match the address to which it connected.
    """
    host = next((value.decode("latin-1").lower() for name, value in headers if name == b"host"), "")
    parts = {url: urlsplit(url) for url in urls}
    used = (url for url, own in parts.items() if authority_of(own) == authority_of(own._replace(netloc=host)))
    return next(used, urls[0])


def server_metadata(base: str) -> dict[str, Any]:
    """Return the server metadata of RFC 8414.

    Clients refuse metadata without an authorization endpoint, so it names one, which refuses every request.
    """
    return {
        "issuer": base,
        "token_endpoint": base + TOKEN_PATH,
        "authorization_endpoint": base + AUTHORIZE_PATH,
        "grant_types_supported": ["client_credentials"],
        "response_types_supported": [],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "scopes_supported": [*ENV_SCOPES, *SCOPES],
        "service_documentation": f"{base}/skill.md",
    }


def resource_metadata(base: str, path: str, brand: str) -> dict[str, Any]:
    """Return the resource metadata of RFC 9728.

    Clients request all of `scopes_supported` at once, so it has only scopes that every client may request.
    """
    return {
        "resource": base + path,
        "authorization_servers": [base],
        "scopes_supported": list(ENV_SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": brand,
        "resource_documentation": f"{base}/skill.md",
    }


def challenge(urls: Sequence[str], headers: Headers, path: str, *, tried: bool) -> bytes:
    """Return the WWW-Authenticate header of a 401 (RFC 6750, 3; RFC 9728, 5.1).

    `tried` means that a credential was sent. A client requests the scope in the challenge, so X-Env chooses the
    environment to log in to.
    """
    wanted = [value.decode("latin-1") for name, value in headers if name == b"x-env"]
    said = [
        *(['error="invalid_token"', 'error_description="the credential does not hold"'] if tried else []),
        *([f'scope="env:{wanted[0]}"'] if wanted and wanted[0] in ENVS else []),
        f'resource_metadata="{spelled(urls, headers)}{RESOURCE_PATH}{path}"',
    ]
    return f"Bearer {', '.join(said)}".encode()


def audiences(urls: Iterable[str]) -> frozenset[str]:
    """Return the audiences that an assertion may name.

    These are the issuer, with or without a final slash, and the token endpoint.
    """
    return frozenset(url + path for url in urls for path in ("", "/", TOKEN_PATH))


def check_resources(resources: Sequence[str], urls: Iterable[str]) -> None:
    """Raise OAuthRefusal if a requested resource is not of this market (RFC 8707)."""
    ours = {_plain(url + path) for url in urls for path in (*RESOURCES, "/v1")}
    if len(resources) > MAX_RESOURCES or any(_plain(resource) not in ours for resource in resources):
        raise OAuthRefusal("invalid_target", "resource must be an address of this market, such as its /mcp/oauth")


def granted(asked: str | None, own_env: str | None, own: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Return the environment and scopes of a token; raises OAuthRefusal.

    `own_env` is the API key's environment; None if the agent's own key signed, which has both. A token is for one
    environment. If a client requests both, because it requests everything that the metadata lists, it gets the key's
    environment, or test.
    """
    words = list(dict.fromkeys((asked or "").split(" "))) if asked and len(asked) <= MAX_SCOPE_LENGTH else []
    unknown = [word for word in words if word not in (*ENV_SCOPES, *SCOPES)]
    if unknown or (asked and not words):
        raise OAuthRefusal("invalid_scope", f"scopes are {', '.join((*ENV_SCOPES, *SCOPES))}, parted by single spaces")
    envs = [env for env in ENVS if f"env:{env}" in words] or [own_env or ENVS[0]]
    env = own_env or envs[0]
    if env not in envs:
        raise OAuthRefusal("invalid_scope", f"this API key is for env:{env}")
    scopes = tuple(word for word in words if word in SCOPES) or tuple(own)
    if beyond(own, scopes):
        raise OAuthRefusal("invalid_scope", f"this API key lacks {' '.join(beyond(own, scopes))}")
    return env, scopes


def _plain(url: str) -> str:
    """Return a URL in its normalised form, or "" if it is not valid as a resource."""
    try:
        parts = urlsplit(url)
        return (
            "" if parts.query or parts.fragment else f"{parts.scheme}://{authority_of(parts)}{parts.path.rstrip('/')}"
        )
    except ValueError:
        return ""

"""The REST facade, made from the registry: routes, arguments, headers, openapi.json and SSE framing. Names no operation."""

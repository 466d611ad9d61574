"""The REST API, built from the registry: routes, arguments, headers, openapi.json and SSE. It names no operation."""

"""Import and prepare what the commands need; the process that forks them imports this module once."""

import gc

from eth_utils.crypto import keccak

import server.app
import server.cli
import server.sandbox.facilitator
import server.sandbox.restore
import server.sandbox.rpc
import server.serve  # noqa: F401 - the command line imports it late
from protocol.mcp.tools import tool_of
from rest.openapi import openapi_json
from server.settings import Settings, config_of
from tools.catalogue import CATALOGUE

openapi_json(CATALOGUE.values(), config_of(Settings(_env_file=None), bytes(32)))  # caches the schemas of all records
for operation in CATALOGUE.values():
    tool_of(operation, is_anonymous=False)
keccak(b"")  # loads its library
gc.collect()
gc.freeze()

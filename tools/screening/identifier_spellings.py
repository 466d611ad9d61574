"""Other forms of an agent's id, key and did; and the ordinary words that identify no agent in a text."""

from base64 import b64encode

from tools.kernel.keys import did_of


def marks_of_id(agent_id: str) -> set[str]:
    """Return the forms of an id: also without its prefix, in hex and in base64."""
    return {agent_id, agent_id.partition("_")[2], *_encoded(agent_id.encode())}


def marks_of_key(public_key: str) -> set[str]:
    """Return the forms of a public key (hex, base64 as in a JWK) and of its did."""
    did = did_of(bytes.fromhex(public_key))
    return {public_key, did, did.rsplit(":", 1)[-1], *_base64(bytes.fromhex(public_key)), *_encoded(did.encode())}


def _encoded(data: bytes) -> set[str]:
    return {data.hex(), *_base64(data)}


def _base64(data: bytes) -> set[str]:
    """Return the forms of data in both base64 alphabets.

    Besides data alone, these are its parts inside a longer text: for each offset the letters that its neighbours cannot
    change.
    """
    texts = {b64encode(data).decode().rstrip("=")}
    for before, first in ((0, 0), (1, 2), (2, 3)):
        texts.add(b64encode(bytes(before) + data).decode()[first : (before + len(data)) * 8 // 6])
    return {spelled for text in texts for spelled in (text, text.replace("+", "-").replace("/", "_"))}


_ORDINARY = """
a an the this that these those it its i me my we us our you your he him his she her they them their
and or but not no yes nor if then else so as of to in on at by for from with without into than
is are was were be been being am do does did done has have had can could should would must may might
what which who whom why how when where there here all any some none each every both only never always again
true false null undefined ok okay error errors result results empty wrong right correct incorrect good bad poor fine
late missing complete incomplete broken invalid valid failed failure success nothing something
input output data text file files value title message messages request response status
buyer seller evaluator operator market job jobs order ordered work listing dispute verdict vote split reason
deliver delivered delivery delivers promise promised paid pay payment refund price cost money
"""
ORDINARY = frozenset(_ORDINARY.split())

"""Payment destinations in texts: wallet addresses and names, also spaced, shortened, cut in parts or spelled out."""

import re

MARK = "zqaddress"  # replaces a destination in the text that is screened
_GAP = r"[\s.,·|/\\+*'\"`_~:()\[\]-]{0,4}"
_HEX = "[0-9a-fA-F]"
_BASE58 = "1-9A-HJ-NP-Za-km-z"
_NAMES = "eth|sol|crypto|bnb|wallet|nft|ton|blockchain"
_DOT = r"(?:\s{0,2}[.。·]\s{0,2}|\s{0,2}[(\[{]\s?(?:dot|punkt|point|punto|ponto|точка|点)\s?[)\]}]\s{0,2}|\s{1,2}(?:dot|punkt|point|punto|ponto|точка|点)\s{1,2})"
_WHOLE = rf"(?<![0-9A-Za-z])(?:[0oO]|zero|null|zéro|cero|ноль|零)\s?[xX×хХ](?:{_GAP}{_HEX}){{40}}(?!{_HEX})"
_SHORTENED = rf"(?<![0-9A-Za-z])0[xX]{_HEX}{{2,20}}\s?(?:\.{{2,6}}|\*{{2,6}}|_{{2,6}})\s?{_HEX}{{0,20}}"
_BARE = rf"(?<![0-9A-Za-z]){_HEX}{{40}}(?![0-9A-Za-z])"
_NAME = rf"(?<![\w.-])[\w-]{{2,60}}(?:\.[\w-]{{2,60}})?{_DOT}(?:{_NAMES})(?![\w-]|\.\w)"
_OTHER_CHAINS = (
    rf"(?<![0-9A-Za-z])(?:(?:bc|tb|ltc|cosmos|osmo|addr|kaspa|stake|celestia)1[02-9a-z]{{25,100}}|T[{_BASE58}]{{33}}"
    rf"|[13LM](?=[{_BASE58}]*[A-Z])(?=[{_BASE58}]*[a-z])[{_BASE58}]{{25,34}}"
    rf"|(?=[{_BASE58}]{{0,20}}\d)(?=[{_BASE58}]{{0,20}}[A-Z])(?=[{_BASE58}]{{0,20}}[a-z])[{_BASE58}]{{32,44}})(?![0-9A-Za-z])"
)
_PLACES = re.compile("|".join((_WHOLE, _SHORTENED, _NAME, _BARE, _OTHER_CHAINS)), re.ASCII & 0)
_BEGUN = re.compile(rf"(?<![0-9A-Za-z])0[xX]({_HEX}{{4,38}})(?![0-9A-Za-z])")
_RUN = re.compile(rf"(?<![0-9A-Za-z]){_HEX}{{4,36}}(?![0-9A-Za-z])")
_REACH = 160  # characters after one part of a cut address in which the next part is looked for


def marked(seen: str) -> str:
    """Replace each destination in a visible text with MARK."""
    return _whole(_PLACES.sub(f" {MARK} ", seen))


def _whole(text: str) -> str:
    """Mark the first address whose parts add up to forty hex digits."""
    for begun in _BEGUN.finditer(text):
        digits, last = len(begun[1]), begun.end()
        for part in _RUN.finditer(text, last, last + _REACH):
            digits, last = digits + len(part[0]), part.end()
            if digits >= 40:
                break
        if digits == 40:
            return f"{text[: begun.start()]} {MARK} {text[last:]}"
    return text

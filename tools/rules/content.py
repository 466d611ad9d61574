"""Screening of text that agents write for other agents: injection, phishing, leaked secrets, hidden characters.

Heuristics: they read as a model would (NFKC, invisible characters taken out) and know phrases of many languages. A phrase is looked up
by a literal beginning and matched at that place with bounded repetition: linear time.
"""

import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice

from tools.rules.jsontext import Json

MAX_SCREENED = 50_000  # characters of a text, or of all texts of a value together
MAX_STRINGS, MAX_VALUE_DEPTH = 200, 8
MAX_URLS = 8
_LONG_NAME = 16


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
    """The codes a text earns, in the order of `Code`; of a longer text the first 50 000 characters count."""
    return _judge([("", text[:MAX_SCREENED])])


def warnings_in(value: Json) -> list[str]:
    """The codes of the texts in a JSON value, names included: its first 200 strings down to depth 8, 50 000 characters in all."""
    named: list[tuple[str, str]] = []
    room = MAX_SCREENED
    for name, text in islice(_strings(value), MAX_STRINGS):
        named.append((name[:room], text[:room]))
        room = max(0, room - len(name) - len(text))
    return _judge(named)


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
    too_many = len(counted) - len(_ZERO_WIDTH.sub("", counted)) > 0.02 * len(text)
    return too_many or _TAG_OR_RUN.search(counted) is not None or _leaves_bidi_open(text)


# --- what is hidden ---------------------------------------------------------------------------------------------------

_ZERO = (
    "\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff\u061c\u034f\u115f\u1160\u3164\uffa0"
    "\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
)
_EMOJI = "\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINED = "\u0600-\u07ff\u0840-\u085f\u08a0-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"  # Arabic to Myanmar, Khmer, Mongolian
_ZERO_WIDTH = re.compile(f"[{_ZERO}]+")
_TAG_OR_RUN = re.compile(f"[\U000e0000-\U000e007f]|[{_ZERO}]{{4}}")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_LONE_MARK = re.compile(f"(?<![{_ZERO}])[\u200e\u200f\u061c](?![{_ZERO}])")
_EXCUSED = re.compile(
    "(?<=\U0001f3f4)\U000e0067\U000e0062[\U000e0061-\U000e007a]{3}\U000e007f"  # the flags of England, Scotland and Wales
    f"|(?<=[{_EMOJI}0-9#*])[\ufe0e\ufe0f]"
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINED}])[\u200b-\u200d\u180b-\u180f]"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    "|^\ufeff"
)
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{160,}={0,2}")
_BEGINNING = re.compile(r"\b\w{1,3}")
_BAR = re.compile(r"(?<!<)\|")  # "<|" is text
_INVISIBLE = re.compile(f"[{_ZERO}\u00ad\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]+")
_ENDED_BY = dict.fromkeys("\u202a\u202b\u202d\u202e", "\u202c") | dict.fromkeys("\u2066\u2067\u2068", "\u2069")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\n\r\x1c-\x1e\x85\u2029]")


def _leaves_bidi_open(text: str) -> bool:
    """UAX 9: U+202C ends an embedding, U+2069 an isolate and what was opened in it; no paragraph nests more than 125."""
    opened: list[str] = []
    for control in _BIDI.findall(text):
        if control in _ENDED_BY:
            opened.append(_ENDED_BY[control])
        elif control == "\u2069" and control in opened:
            while opened.pop() != control:
                pass
        elif opened[-1:] == [control]:
            opened.pop()
        if len(opened) > 125 or (opened and control.isspace()):
            return True
    return bool(opened)


# --- what is said -----------------------------------------------------------------------------------------------------

_SPACE = r"(?:(?![.!?]\s)\W){1,6}"  # within a sentence
_GAP = rf"(?:{_SPACE}\w{{1,20}}){{0,4}}?"
_FEW, _MANY = _GAP + _SPACE, rf"(?:{_SPACE}\w{{1,20}}){{0,8}}?{_SPACE}"
_NEGATED = re.compile(
    r"(?:\b(?:never|not|cannot|without|nobody|nunca|jamás|não|nicht|niemals|kein\w*|jamais|pas|mai|nie|никогда|не)|n't)(?:\W{1,3}\w{1,15}){0,4}\W{0,3}$"
    r"|(?:不要|不会|不得|请勿|切勿|勿|别)\w{0,6}$"
)
_NEVER = re.compile(r"\b(?:never|nunca|jamás|jamais|niemals|mai|nigdy|никогда)\b")
_FOREIGN = "аеорсухіјѕһԁԛԝαοιρτυκν"
_LOOKALIKES, _LOOKALIKE = str.maketrans(_FOREIGN, "aeopcyxijshdqwaoiptukv"), re.compile(f"[{_FOREIGN}]")


class _Phrase:
    """Text that begins with one of `starts` (a list with bars) and matches `rest` there; folded text unless `exact`.

    A group of `rest` is a secret that must look like one.
    """

    def __init__(
        self, code: Code, starts: str, rest: str, *, anywhere: bool = False, exact: bool = False, negatable: bool = False
    ) -> None:  # fmt: skip
        self.code, self.exact, self._anywhere, self._negatable = code, exact, anywhere, negatable
        self._starts = [(text, text[0] if anywhere else _BEGINNING.findall(text)[0]) for text in _BAR.split(starts)]
        self._rest = re.compile(rest)

    def occurs(self, text: str, beginnings: set[str]) -> bool:
        """`beginnings` holds each character of the text and the first three of each word: what is not there is not looked for."""
        for start, beginning in self._starts:
            place = text.find(start) if beginning in beginnings else -1
            while place >= 0:
                if self._at(text, place):
                    return True
                place = text.find(start, place + 1)
        return False

    def _at(self, text: str, place: int) -> bool:
        if place and not self._anywhere and text[place - 1].isalnum():
            return False
        found = self._rest.match(text, place)
        if found is None or (found.lastindex and not _is_random(found[1])):
            return False
        return not self._negatable or not (_NEVER.search(found[0]) or _NEGATED.search(text[max(0, place - 48) : place]))


def _judge(named: list[tuple[str, str]]) -> list[str]:
    found: set[Code] = set()
    if any(hides(name) or hides(text) for name, text in named):
        found.add(Code.HIDDEN_UNICODE)
    visible = _visible("\n".join(f"{name}: {text}" if name else text for name, text in named))
    folded = _folded(visible)
    in_visible, in_folded = ({*text, *_BEGINNING.findall(text)} for text in (visible, folded))
    for phrase in _PHRASES:
        if phrase.code not in found:
            text, beginnings = (visible, in_visible) if phrase.exact else (folded, in_folded)
            found |= {phrase.code} if phrase.occurs(text, beginnings) else set()
    if folded.count("http://") + folded.count("https://") > MAX_URLS:
        found.add(Code.EXCESSIVE_URLS)
    if any(len(set(blob)) > 20 for blob in _BLOB.findall(visible)):
        found.add(Code.BASE64_BLOB)
    return [code.value for code in Code if code in found]


def _folded(visible: str) -> str:
    folded = visible.casefold().replace("_", " ").replace("\u2019", "'")
    return re.sub(r"[^\W\d]{2,40}", _in_one_script, folded) if _LOOKALIKE.search(folded) else folded


def _in_one_script(word: re.Match[str]) -> str:
    """A word of Latin letters and look-alikes of another script, all in Latin; any other word as it is."""
    latin = word[0].translate(_LOOKALIKES)
    return latin if latin.isascii() and any(map(str.isascii, word[0])) else word[0]


def _visible(text: str) -> str:
    """What a model reads: compatibility forms folded (a character can become 18), invisible characters taken out."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))[: 2 * MAX_SCREENED]


def _strings(value: Json, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The strings of a value in document order, each with the name it stands under; long names of other values too."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, (dict, list)) and depth < MAX_VALUE_DEPTH:
        for key, item in value.items() if isinstance(value, dict) else ((name, item) for item in value):
            if len(key) >= _LONG_NAME and key is not name and not isinstance(item, str):
                yield key, ""
            yield from _strings(item, key, depth + 1)


# --- the phrases ------------------------------------------------------------------------------------------------------


def _is_random(secret: str) -> bool:
    """Hex with many digits, or words none of which BIP-39 leaves out for being too common."""
    return len(set(secret)) > 6 and _NO_SEED_WORDS.isdisjoint(re.findall("[a-z]+", secret))


# fmt: off
_ALWAYS_BEFORE = (
    r"(?:previous\w{0,2}|prior|above|earlier|preceding|foregoing|original|initial|system|safety|anterior\w{0,4}|"
    r"previ[ao]s?|prévi[ao]s?|precedent[ei]\w?|précédent\w{0,2}|antérieur\w{0,2}|dessus|vorherig\w{1,2}|"
    r"bisherig\w{1,2}|obig\w{1,2}|früher\w{1,2}|vorig\w{1,2}|eerdere?|voorgaande|poprzedni\w{1,3}|wcześniejsz\w{1,3}|"
    r"предыдущ\w{2,3}|прежн\w{2,3}|системн\w{2,3}|выше|попередн\w{1,3}|sebelumnya|trước|önceki|السابقة|سابقة|sistema|"
    r"acima|arriba|sopra|oben|before|you were given|given to you)")
_ORDERS = (
    r"(?:instructions?|prompts?|directives?|guardrails?|programming|instrucci[oó]n(?:es)?|istruzion[ei]|instruç(?:ões|"
    r"ão)|anweisung(?:en)?|befehle?|instruktion(?:en)?|instructies?|instrukcj\w{1,3}|polece\w{1,4}|инструкц\w{1,3}|"
    r"указани\w{1,2}|інструкц\w{1,3}|вказівк\w{1,3}|instruksi|arahan|التعليمات|الأوامر|تعليمات|أوامر|chỉ dẫn|"
    r"hướng dẫn)")
_RULES_TOO = (
    rf"(?:{_ORDERS}|rules?|guidelines?|commands?|context|training|policies|policy|reglas?|ordenes|órdenes|regole|"
    rf"comandi|regras|consignes?|règles?|regeln|regels|правил\w{{0,3}}|команд\w{{0,3}})")
_OVERRIDE = re.compile(
    rf"(?:do not follow|don't follow|stop following|pay no attention to|bỏ qua|не обращай(?:те)? внимания|"
    rf"\w{{3,20}})(?: ti| te| de| de las)?(?:{_FEW}{_ALWAYS_BEFORE}{_FEW}{_RULES_TOO}\b|"
    rf"{_FEW}{_RULES_TOO}{_FEW}{_ALWAYS_BEFORE}\b|\W(?:all|any|every|your|my|these|those|todas?|tutte|toutes|alle|все|"
    rf"свои|semua|tes|vos|tus|tue|seus|suas|deine|ihre|eure)(?:\W(?:of|the|your|as|las|le|tes|deine|ihre|"
    rf"свои))?(?:\W(?:other|current|tus|suas|tue))?\W{_ORDERS}\b)")
_WANTED = (r"(?:api\W?(?:keys?|tokens?)|(?:secret|private|signing|wallet|access)\W?keys?|(?:seed|recovery|secret|"
    r"backup)\W?(?:phrases?|words)|mnemonics?|passphrases?|passwords?(?!\W?(?:protected|strength|manager|polic|field|"
    r"generator|reset|hash))|credentials|(?:access|bearer|auth|session)\W?tokens?|login details|signing seed|"
    r"claves? (?:privadas?|secretas?|api|de api)|frases? (?:semilla|de recuperación)|contraseñas?|clés? (?:privées?|"
    r"secrètes?|api|d api|d'api)|phrases? (?:de récupération|secrète|mnémonique)|mots? de passe|(?:privaten?|"
    r"geheimen?) schlüssel|api\W?schlüssel|passw(?:ort|örter)|zugangsdaten|wiederherstellungsphrase|"
    r"chaves? (?:privadas?|secretas?|api|de api)|frases? (?:semente|de recuperação)|senhas?|chiav[ei] (?:privat[ae]|"
    r"segret[ae]|api)|frase (?:seme|di recupero)|wachtwoord(?:en)?|privésleutel|hasł[oa]|"
    r"klucz\w{0,2} (?:prywatn\w{1,3}|api)|(?:приватн|закрыт|секретн)\w{2,3} ключ\w{0,2}|сид\W?фраз\w|парол[ьяи]|"
    r"api\W?ключ\w{0,2}|özel anahtar\w{0,6}|şifre\w{0,6}|kurtarma ifade\w{0,4}|kunci privat|kata sandi|frasa (?:benih|"
    r"pemulihan)|khóa (?:riêng|bí mật|api)|mật khẩu|cụm từ khôi phục|المفتاح الخاص|مفتاحك الخاص|كلمة (?:المرور|السر)|"
    r"عبارة الاسترداد|निजी कुंजी|पासवर्ड|सीड फ्रेज)")
_WANTED_CJK = (
    r"(?:私钥|私鑰|助记词|助記詞|密[码碼](?!保护|保護|管理|强度)|口令|api\s?密[钥鑰]|密[钥鑰]|秘密鍵|シードフレーズ|リカバリーフレーズ|パスワード(?!管理|保護|付き)|api\s?キー|"
    r"개인\s?키|시드\s?(?:구문|문구)|복구\s?(?:구문|문구)|비밀번호|api\s?키)")
_WORDS = (r"(?:[a-z]{3,8}[ ,;\n]{1,3}){11,23}[a-z]{3,8}(?![a-z])")
_NO_SEED_WORDS = {"the", "and", "for", "with", "your", "are", "not", "from", "have", "has", "was", "our", "its", "but", "who"}
_PHRASES = (
    _Phrase(Code.INSTRUCTION_OVERRIDE, "ignor|disregard|forget|overrid|bypass|skip|discard|olvida|olvide|oublie|"
        "vergiss|vergessen|missacht|esque|desconsider|dimentic|tralasci|negeer|vergeet|zignoruj|pomiń|zapomn|игнорир|"
        "проигнорир|забуд|не обращай|ігнор|проігнор|abaikan|lupakan|bỏ qua|تجاهل|do not follow|don't follow|"
        "stop following|pay no attention to", _OVERRIDE.pattern, negatable=True),
    _Phrase(Code.INSTRUCTION_OVERRIDE, "haz caso omiso|fais abstraction|faites abstraction|ne tiens pas compte|"
        "ne tenez pas compte", rf"[\w ]{{8,24}}?{_FEW}{_RULES_TOO}\b"),
    _Phrase(Code.INSTRUCTION_OVERRIDE, "beachte|befolge",
        rf"\w{{7,10}}{_FEW}{_ALWAYS_BEFORE}{_FEW}{_RULES_TOO}\W(?:\w{{1,12}}\W){{0,2}}?nicht"),
    _Phrase(Code.INSTRUCTION_OVERRIDE, "忽略|无视|無視|忘记|忘記|忘掉|不要遵守|不要理会", r"..[^。！？\n]{0,12}(?:指令|指示|提示词|提示詞|规则|規則|命令|约束|"
        r"設定|设定)", anywhere=True, negatable=True),
    _Phrase(Code.INSTRUCTION_OVERRIDE, "指示|命令|プロンプト|ルール|지시|명령|지침|프롬프트|निर्देश|talimat|komut",
        r"\S{2,8}[^。！？!?\n]{0,14}(?:無視|忘れ|무시|잊어|अनदेखा|नज़रअंदाज़|भूल|yok say|unut|görmezden gel|dikkate alma)",
        anywhere=True),
    _Phrase(Code.INSTRUCTION_OVERRIDE, "your real|your true|your actual", r"your \w{4,6} (?:instructions?|goal|task|"
        r"objective|mission|purpose) (?:is|are)\b"),
    _Phrase(Code.INSTRUCTION_OVERRIDE, "new instruction|new system instruction|nuevas instrucciones|"
        "nouvelles instructions|neue anweisung|новые инструкции|新指令|新的指令", r"[^:：\n]{3,40}[:：]"),
    _Phrase(Code.INSTRUCTION_OVERRIDE, "do not tell|don't tell|do not inform|don't inform|without telling|"
        "without informing|hide this from|keep this from|no le digas|ne dis pas|sag nicht",
        rf"[\w' ]{{8,20}}?{_FEW}?(?:the |your |al |à l |dem |de )?(?:user|owner|operator|human|principal|supervisor|"
        rf"usuario|utilisateur|nutzer|benutzer)s?\b"),
    _Phrase(Code.INSTRUCTION_OVERRIDE, "send|transfer|move|drain",
        r"\w{4,8} (?:\w{2,6} ){0,2}?all (?:of )?(?:your |the |its )?(?:available |remaining )?(?:funds|money|usdc|eth|"
        r"tokens|crypto|assets|balance)\b", negatable=True),
    _Phrase(Code.SYSTEM_PROMPT_REFERENCE, "system prompt|systemprompt|hidden instruction|developer message|"
        "prompt del sistema|prompt do sistema|prompt di sistema|prompt système|invite système|системный промпт|"
        "системного промпта|systemanweisung", r"."),
    _Phrase(Code.SYSTEM_PROMPT_REFERENCE, "系统提示|系統提示|システムプロンプト|시스템 프롬프트|सिस्टम प्रॉम्प्ट", r".", anywhere=True),
    _Phrase(Code.ROLE_HIJACK, "you are now|you're now|from now on you are|you are no longer|act as|behave as|"
        "ahora eres|a partir de ahora eres|tu es maintenant|tu es désormais|du bist jetzt|du bist ab jetzt|"
        "você agora é|agora você é|ora sei|adesso sei|jesteś teraz|теперь ты|ты теперь|bundan sonra sen|"
        "kamu sekarang adalah|bây giờ bạn là|أنت الآن",
        r"[\w' ]{6,24}?(?:\W{1,3}\w{1,16}){0,4}?\W{1,3}(?:admin\w*|root|dan|jailbr\w*|unrestricted|unfiltered|"
        r"uncensored|evil|hacker|developer mode|debug mode|god mode|superuser|sudo|bound by|restrained|restricted by|"
        r"free from|sin restricciones|ohne (?:einschränkungen|regeln)|sans (?:restrictions?|limites?|règles)|"
        r"sem restrições|senza (?:restrizioni|limiti)|без ограничений|bez ograniczeń|sınırsız|tanpa batasan|"
        r"không giới hạn|بلا قيود|(?:my|mein|mi|mon|mio|meu) (?:assistant|slave|servant|bot|agent|asistente|assistent)|"
        r"a different (?:ai|assistant|agent|model)|(?:ai|assistant|model|bot|agent) (?:without|"
        r"with no) (?:restrictions|rules|limits|filters))\b", negatable=True),
    _Phrase(Code.ROLE_HIJACK, "你现在是|你現在是|从现在开始你|從現在開始你|从现在起你|あなたは今から|今からあなたは|これからあなたは|이제부터 너는|이제 너는|지금부터 당신은|अब तुम|"
        "अब आप", r"[^。\n]{3,30}?(?:管理员|管理員|不受|没有限制|沒有限制|无限制|無限制|黑客|制限のない|制限なし|管理者|ハッカー|관리자|제한 없는|제한이 없는|해커|व्यवस्थापक|"
        r"बिना (?:किसी )?प्रतिबंध)", anywhere=True),
    _Phrase(Code.ROLE_HIJACK, "from now on|henceforth|from this point on", r"[\w ]{8,18},? you (?:must |will |should |"
        r"shall |only )?(?:only )?(?:obey|follow my|answer only|respond only|reply only|only answer|only respond|"
        r"pretend|ignore)\b"),
    _Phrase(Code.ROLE_HIJACK, "enter|enable|activate|switch to|developer mode|dan mode|jailbreak mode|god mode|"
        "you can do anything now|pretend you are|pretend that you are|pretend to be an", r"(?:(?:enter|enable|activate|"
        r"switch to) (?:\w{1,8} )?)?(?:developer|dan|jailbreak|god|unrestricted|sudo) mode\b|you can do anything now|"
        r"pretend [\w ]{5,16}?(?:unrestricted|not an? (?:ai|assistant)|no (?:rules|restrictions)|admin\w*|evil|"
        r"system)\b", negatable=True),
    _Phrase(Code.ROLE_HIJACK, "<|im|<|start|<|system|<|user|<|assistant|<|end|[inst]|<<sys>>|<system>|</system>|"
        "</assistant>|### system:|### instruction:", r"<\|[a-z ]{2,18}\|>|\[inst\]|<<sys>>|</?(?:system|assistant)>|"
        r"### (?:system|instruction):", anywhere=True),
    _Phrase(Code.CREDENTIAL_REQUEST, "send|give|share|drop|provide|reveal|paste|post|dm|tell|show|submit|disclose|"
        "export|forward|email|print|output|include|message|upload|reply with|respond with",
        rf"\w{{2,8}}(?: with)?{_GAP}\W{{1,6}}(?:me|us|your|his|her|their|owner|operator|user|agent|"
        rf"human)(?:{_SPACE}(?!how\b|which\b|whether\b)\w{{1,20}}){{0,6}}?{_SPACE}{_WANTED}", negatable=True),
    _Phrase(Code.CREDENTIAL_REQUEST, "send|give|share|provide|reveal|paste|tell|submit|disclose",
        r"\w{4,8}(?:\W\w{1,8}){0,2}?\W(?:seed|recovery|secret)\W?phrase|\w{4,8}(?:\W\w{1,8}){0,2}?\W(?:private\W?key|"
        r"mnemonic)\b", negatable=True),
    _Phrase(Code.CREDENTIAL_REQUEST, "api|secret|private|wallet|seed|recovery|mnemonic|password|credentials",
        rf"{_WANTED}{_MANY}(?:send|message|give|dm|email|forward|tell) (?:it |them )?(?:over )?(?:to )?(?:me|us)\b",
        negatable=True),
    _Phrase(Code.CREDENTIAL_REQUEST, "enter|type|confirm|verify|validate|import|connect",
        rf"\w{{4,9}}{_FEW}(?:seed\W?phrase|recovery\W?phrase|private\W?key|mnemonic)", negatable=True),
    _Phrase(Code.CREDENTIAL_REQUEST, "envía|envíe|envia|manda|comparte|comparta|dame|deme|proporcion|introduce|indica|"
        "facilita|envoie|envoyez|donne|partage|fourni|communique|indique|sende|schick|gib|geben sie|teile|nenne|"
        "übermittle|envie|mande|compartilhe|forneça|informe|me dê|invia|mandami|condividi|fornisci|dammi|comunica|"
        "stuur|deel|geef|wyślij|podaj|udostępnij|пришли|отправь|отправьте|сообщи|дай|дайте|укажи|введи|скинь|передай|"
        "kirim|berikan|bagikan|masukkan|gửi|cung cấp|nhập|أرسل|أعطني|شارك|أدخل|भेज", rf"\w{{2,12}}{_MANY}{_WANTED}",
        negatable=True),
    _Phrase(Code.CREDENTIAL_REQUEST, "özel anahtar|şifre|kurtarma ifade|निजी कुंजी|पासवर्ड|सीड फ्रेज",
        rf"\S{{2,16}}{_MANY}(?:gönder|paylaş|ver\b|yaz\b|भेज|दें|दो|साझा|बता)", anywhere=True),
    _Phrase(Code.CREDENTIAL_REQUEST, "发送|发给|發送|提供|告诉|告訴|输入|輸入|分享|给我|給我|交出", rf"..[^。！？，、；\n]{{0,14}}{_WANTED_CJK}",
        anywhere=True, negatable=True),
    _Phrase(Code.CREDENTIAL_REQUEST, "秘密鍵|シードフレーズ|リカバリーフレーズ|パスワード|apiキー|api キー|개인키|개인 키|시드 구문|시드 문구|복구 구문|비밀번호|api 키|"
        "私钥|私鑰|助记词|密码|密钥", r"\S{2,8}[^。！？，、；!?\n]{0,14}(?:送って|送信して|教えて|入力して|共有して|提供して|보내|알려|입력해|공유해|제공해|发给|给我|告诉我|发来)",
        anywhere=True),
    _Phrase(Code.CREDENTIAL_MENTION, "api|secret|private|signing|wallet|access|seed|recovery|backup|mnemonic|"
        "passphrase|password|credentials|bearer|auth|session|login details|clave|frase|contraseña|clé|phrase|mot|"
        "privat|geheim|passw|zugangsdaten|wiederherstellung|chave|senha|chiav|wachtwoord|privésleutel|hasł|klucz|"
        "приватн|закрыт|секретн|сид|парол|özel anahtar|şifre|kurtarma|kunci|kata sandi|frasa|khóa|mật khẩu|cụm từ|"
        "المفتاح|مفتاحك|كلمة|عبارة|निजी|पासवर्ड|सीड", _WANTED),
    _Phrase(Code.CREDENTIAL_MENTION, "私钥|私鑰|助记词|助記詞|密码|密碼|口令|密钥|密鑰|秘密鍵|シードフレーズ|リカバリーフレーズ|パスワード|apiキー|개인키|개인 키|시드|복구|"
        "비밀번호", _WANTED_CJK, anywhere=True),
    _Phrase(Code.LEAKED_CREDENTIAL, "sk-|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|npm_|hf_|pypi-AgEI|dop_v1_|whsec_|"
        "whsk_|sk_live_|rk_live_|sk_test_|rk_test_|AKIA|ASIA|AIza|xoxa-|xoxb-|xoxe-|xoxp-|xoxr-|xoxs-|SG.",
        r"sk-(?:(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20}|"
        r"(?=[A-Za-z]{0,30}[0-9][A-Za-z]{0,30}[0-9])[A-Za-z0-9]{20})|gh[pousr]_[A-Za-z0-9]{36}|"
        r"github_pat_[A-Za-z0-9_]{60}|glpat-[A-Za-z0-9_-]{20}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30}|"
        r"pypi-AgEI[A-Za-z0-9_-]{40}|dop_v1_[0-9a-f]{64}|whs(?:ec|k)_[A-Za-z0-9+/]{24}|[sr]k_(?:live|"
        r"test)_[0-9A-Za-z]{20}|A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z])|AIza[0-9A-Za-z_-]{35}|xox[abeprs]-[0-9A-Za-z-]{20}|"
        r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", exact=True),
    _Phrase(Code.LEAKED_CREDENTIAL, "as_live_|as_test_|:AA|-----BEGIN", r"as_(?:live|test)_[0-9A-Za-z]{40}|"
        r":AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])|"
        r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\,:-]{64}", anywhere=True,
        exact=True),
    _Phrase(Code.LEAKED_CREDENTIAL, "private|secret|signing|wallet|privkey|ed25519 seed|clave privada|chave privada|"
        "clé privée|chiave privata|privater schlüssel|приватный ключ|закрытый ключ|私钥|私鑰|秘密鍵|개인키|개인 키",
        r"(?:(?:private|secret|signing|wallet)\W{0,3}(?:key|seed)|privkey|ed25519 seed|clave privada|chave privada|"
        r"clé privée|chiave privata|privater schlüssel|(?:приватный|закрытый) ключ|私钥|私鑰|秘密鍵|"
        r"개인 ?키)(?:\W{1,4}\w{1,12}){0,4}?\W{1,6}(?:0x)?([0-9a-f]{64})(?![0-9a-z])", anywhere=True),
    _Phrase(Code.LEAKED_CREDENTIAL, "seed|recovery|backup|mnemonic|frase semilla|сид|助记词|助記詞|シードフレーズ|시드",
        rf"(?:(?:seed|recovery|backup)\W?(?:phrases?|words)|mnemonics?|frase semilla|сид\W?фраза|助记词|助記詞|シードフレーズ|"
        rf"시드 ?구문)(?:\W{{1,4}}\w{{1,12}}){{0,3}}?\W{{1,6}}({_WORDS})", anywhere=True),
    _Phrase(Code.SHELL_PIPE, "curl|wget|irm|iwr|invoke-webrequest|invoke-restmethod|fetch", r"[a-z-]{3,18}[^\n|"
        r"]{0,300}\|\s{0,3}(?:sudo\s{1,3}(?:-\w{1,4}\s{1,3})?)?(?:(?:ba|z|da|k|a)?sh|python3?|perl|ruby|node|iex|"
        r"invoke-expression)\b"),
    _Phrase(Code.SHELL_PIPE, "bash|sh|zsh|eval|source|python|iex", r"(?:(?:ba|z)?sh|eval|source|python3?|"
        r"iex)\s{0,3}(?:-c\s{0,3})?[\"']?(?:<\(|\$\(|`|\(\s?(?:new-object|irm|iwr|invoke))[^\n]{0,20}(?:curl|wget|irm|"
        r"iwr|http|net\.webclient)"),
    _Phrase(Code.EXEC_PATTERN, "eval(|exec(|os.system(|subprocess.|child process|rm -rf|import  (|powershell -|"
        "chmod +x|nc -e|/bin/sh|/bin/bash|<script|javascript:|base64 -d|base64 --decode|; drop table|xp cmdshell|`;|"
        "$(curl|$(wget|; rm ", r".", anywhere=True),
    _Phrase(Code.FAKE_SYSTEM_ALERT, "system|official|message from|notice from|this is the|mensaje oficial|"
        "message officiel|offizielle|официальное", r"system\]?\W{0,2}\s?(?:alert|notice|notification|warning|override|"
        r"announcement)\W{0,2}\s?[:!\]\u2014-]|(?:official (?:message|notice|notification|announcement)|(?:message|"
        r"notice) from (?:the )?(?:platform|marketplace|administrators?|admin|support|system|security team)|"
        r"this is the (?:platform|marketplace|system|security team|admin)|mensaje oficial|message officiel|"
        r"offizielle (?:mitteilung|nachricht)|официальное (?:сообщение|уведомление))\b"),
    _Phrase(Code.FAKE_SYSTEM_ALERT, "[system|[admin|[security|[platform|[urgent", r"\[(?:system|admin|security|"
        r"platform|urgent)[^\]\n]{0,24}\]", anywhere=True),
    _Phrase(Code.FAKE_SYSTEM_ALERT, "your account|your wallet|your agent|your listing|su cuenta|tu cuenta|votre compte|"
        "ihr konto|dein konto|sua conta|il tuo account|ваш аккаунт|您的账户|您的帐户|アカウントが",
        r"[\w ']{6,16}(?:\W{1,3}\w{1,14}){0,3}?\W{0,3}(?:suspended|locked|limited|restricted|compromised|frozen|"
        r"disabled|terminated|deactivated|flagged|suspendid[ao]|bloquead[ao]|suspendu|bloqué|gesperrt|eingeschränkt|"
        r"sospeso|bloccato|заблокирован|冻结|凍結|停止され)"),
    _Phrase(Code.TOOL_CALL_SMUGGLING, "<tool|</tool|<function|</function|<invoke|<|tool|<｜tool|[tool call|"
        "\"tool calls\"|\"function call\"|'tool calls'|\"method\"|\"tool use\"|<parameter name=",
        r"</?(?:tool (?:call|use|result|response|code)s?|toolcalls?|function (?:calls?|results?)|"
        r"invoke)(?:\s[^>\n]{0,80}|=[\w. -]{1,60})?>|<[|｜]tool[^>\n]{0,30}>|\[tool calls?\]|[\"'](?:tool calls|"
        r"function call)[\"']\s{0,3}:\s{0,3}[\[{]|\"method\"\s{0,3}:\s{0,3}\"tools/call\"|\"tool use\"\s{0,3},|"
        r"<parameter name=|<function(?: name)?=", anywhere=True),
)
# fmt: on

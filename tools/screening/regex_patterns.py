"""Exact forms that screening finds by their beginning: leaked secrets, shell pipes, markup of tools and roles.

A pattern is looked up by a literal beginning and matched there with bounded repetition, so the time is linear.
"""

import re

from tools.screening.codes import Code

_BEGINNING = re.compile(r"\b\w{1,3}")
_BAR = re.compile(r"(?<!<)\|")  # the bar of "<|" is text


def beginnings(text: str) -> set[str]:
    """Return each character of a text and the first three characters of each word.

    A pattern whose beginning is not among them is not looked up.
    """
    return {*text, *_BEGINNING.findall(text)}


class Pattern:
    """A pattern: text that begins with one of `starts` (separated by bars) and matches `rest`.

    It reads folded text, or the original if `exact`. A group in `rest` is a secret, which must look random.
    """

    def __init__(
        self, code: Code, starts: str, rest: str, *, anywhere: bool = False, exact: bool = False
    ) -> None:  # fmt: skip
        self.code, self.exact, self._anywhere = code, exact, anywhere
        self._starts = [(text, text[0] if anywhere else _BEGINNING.findall(text)[0]) for text in _BAR.split(starts)]
        self._rest = re.compile(rest)

    def occurs(self, text: str, beginnings: set[str]) -> bool:
        """Check whether the pattern occurs in a text, given the text's `beginnings`."""
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
        return found is not None and (not found.lastindex or _is_random(found[1]))


def _is_random(secret: str) -> bool:
    """Check whether a text may be a secret: many different characters, and no common words.

    These are hex digits, or words of BIP-39, which has none of the common ones.
    """
    return len(set(secret)) > 6 and _NO_SEED_WORDS.isdisjoint(re.findall("[a-z]+", secret))


# fmt: off
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
PATTERNS = (
    Pattern(Code.INSTRUCTION_OVERRIDE, "new instruction|new system instruction|updated instruction|revised instruction|nuevas instrucciones|novas instruções|yeni talimat|νέες οδηγίες|دستور جدید|دستورات جدید|تعليمات جديدة|नए निर्देश|새로운 지시|新しい指示|הוראות חדשות|hướng dẫn mới|chỉ dẫn mới|"
        "nouvelles instructions|neue anweisung|новые инструкции|新指令|新的指令", r"[^:：\n]{3,40}[:：]"),
    Pattern(Code.SYSTEM_PROMPT_REFERENCE, "system prompt|systemprompt|hidden instruction|developer message|"
        "prompt del sistema|prompt do sistema|prompt di sistema|prompt système|invite système|системный промпт|"
        "системного промпта|systemanweisung", r"."),
    Pattern(Code.SYSTEM_PROMPT_REFERENCE, "系统提示|系統提示|システムプロンプト|시스템 프롬프트|सिस्टम प्रॉम्प्ट", r".", anywhere=True),
    Pattern(Code.ROLE_HIJACK, "<|im|<|start|<|system|<|user|<|assistant|<|end|[inst]|<<sys>>|<system>|</system>|"
        "</assistant>|### system:|### instruction:", r"<\|[a-z ]{2,18}\|>|\[inst\]|<<sys>>|</?(?:system|assistant)>|"
        r"### (?:system|instruction):", anywhere=True),
    Pattern(Code.CREDENTIAL_MENTION, "api|secret|private|signing|wallet|access|seed|recovery|backup|mnemonic|"
        "passphrase|password|credentials|bearer|auth|session|login details|clave|frase|contraseña|clé|phrase|mot|"
        "privat|geheim|passw|zugangsdaten|wiederherstellung|chave|senha|chiav|wachtwoord|privésleutel|hasł|klucz|"
        "приватн|закрыт|секретн|сид|парол|özel anahtar|şifre|kurtarma|kunci|kata sandi|frasa|khóa|mật khẩu|cụm từ|"
        "المفتاح|مفتاحك|كلمة|عبارة|निजी|पासवर्ड|सीड", _WANTED),
    Pattern(Code.CREDENTIAL_MENTION, "私钥|私鑰|助记词|助記詞|密码|密碼|口令|密钥|密鑰|秘密鍵|シードフレーズ|リカバリーフレーズ|パスワード|apiキー|개인키|개인 키|시드|복구|"
        "비밀번호", _WANTED_CJK, anywhere=True),
    Pattern(Code.LEAKED_CREDENTIAL, "sk-|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|npm_|hf_|pypi-AgEI|dop_v1_|whsec_|"
        "whsk_|sk_live_|rk_live_|sk_test_|rk_test_|AKIA|ASIA|AIza|xoxa-|xoxb-|xoxe-|xoxp-|xoxr-|xoxs-|SG.",
        r"sk-(?:(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20}|"
        r"(?=[A-Za-z]{0,30}[0-9][A-Za-z]{0,30}[0-9])[A-Za-z0-9]{20})|gh[pousr]_[A-Za-z0-9]{36}|"
        r"github_pat_[A-Za-z0-9_]{60}|glpat-[A-Za-z0-9_-]{20}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30}|"
        r"pypi-AgEI[A-Za-z0-9_-]{40}|dop_v1_[0-9a-f]{64}|whs(?:ec|k)_[A-Za-z0-9+/]{24}|[sr]k_(?:live|"
        r"test)_[0-9A-Za-z]{20}|A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z])|AIza[0-9A-Za-z_-]{35}|xox[abeprs]-[0-9A-Za-z-]{20}|"
        r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", exact=True),
    Pattern(Code.LEAKED_CREDENTIAL, "as_live_|as_test_|oat_|:AA|-----BEGIN", r"as_(?:live|test)_[0-9A-Za-z]{40}|"
        r"oat_[A-Za-z0-9_-]{60,800}\.[A-Za-z0-9_-]{43}|"
        r":AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])|"
        r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\,:-]{64}", anywhere=True,
        exact=True),
    Pattern(Code.LEAKED_CREDENTIAL, "private|secret|signing|wallet|privkey|ed25519 seed|clave privada|chave privada|"
        "clé privée|chiave privata|privater schlüssel|приватный ключ|закрытый ключ|私钥|私鑰|秘密鍵|개인키|개인 키",
        r"(?:(?:private|secret|signing|wallet)\W{0,3}(?:key|seed)|privkey|ed25519 seed|clave privada|chave privada|"
        r"clé privée|chiave privata|privater schlüssel|(?:приватный|закрытый) ключ|私钥|私鑰|秘密鍵|"
        r"개인 ?키)(?:\W{1,4}\w{1,12}){0,4}?\W{1,6}(?:0x)?([0-9a-f]{64})(?![0-9a-z])", anywhere=True),
    Pattern(Code.LEAKED_CREDENTIAL, "seed|recovery|backup|mnemonic|frase semilla|сид|助记词|助記詞|シードフレーズ|시드",
        rf"(?:(?:seed|recovery|backup)\W?(?:phrases?|words)|mnemonics?|frase semilla|сид\W?фраза|助记词|助記詞|シードフレーズ|"
        rf"시드 ?구문)(?:\W{{1,4}}\w{{1,12}}){{0,3}}?\W{{1,6}}({_WORDS})", anywhere=True),
    Pattern(Code.SHELL_PIPE, "curl|wget|irm|iwr|invoke-webrequest|invoke-restmethod|fetch", r"[a-z-]{3,18}[^\n|"
        r"]{0,300}\|\s{0,3}(?:sudo\s{1,3}(?:-\w{1,4}\s{1,3})?)?(?:(?:ba|z|da|k|a)?sh|python3?|perl|ruby|node|iex|"
        r"invoke-expression)\b"),
    Pattern(Code.SHELL_PIPE, "bash|sh|zsh|eval|source|python|iex", r"(?:(?:ba|z)?sh|eval|source|python3?|"
        r"iex)\s{0,3}(?:-c\s{0,3})?[\"']?(?:<\(|\$\(|`|\(\s?(?:new-object|irm|iwr|invoke))[^\n]{0,20}(?:curl|wget|irm|"
        r"iwr|http|net\.webclient)"),
    Pattern(Code.EXEC_PATTERN, "eval(|exec(|os.system(|subprocess.|child process|rm -rf|import  (|powershell -|"
        "chmod +x|nc -e|/bin/sh|/bin/bash|<script|javascript:|base64 -d|base64 --decode|; drop table|xp cmdshell|`;|"
        "$(curl|$(wget|; rm ", r".", anywhere=True),
    Pattern(Code.FAKE_SYSTEM_ALERT, "[system|[admin|[security|[platform|[urgent|[系统|[시스템|[보안|[관리자|[긴급|【系统|【官方|【平台|【安全|【管理|【紧急|【システム|【運営|【緊急|【시스템",
        r"[\[【](?:system|admin|security|platform|urgent|系统|官方|平台|安全|管理|紧急|システム|運営|緊急|시스템|보안|관리자|긴급)[^\]】\n]{0,24}[\]】]", anywhere=True),
    Pattern(Code.TOOL_CALL_SMUGGLING, "<tool|</tool|<function|</function|<invoke|<|tool|<｜tool|[tool call|"
        "\"tool calls\"|\"function call\"|'tool calls'|\"method\"|\"tool use\"|<parameter name=",
        r"</?(?:tool (?:call|use|result|response|code)s?|toolcalls?|function (?:calls?|results?)|"
        r"invoke)(?:\s[^>\n]{0,80}|=[\w. -]{1,60})?>|<[|｜]tool[^>\n]{0,30}>|\[tool calls?\]|[\"'](?:tool calls|"
        r"function call)[\"']\s{0,3}:\s{0,3}[\[{]|\"method\"\s{0,3}:\s{0,3}\"tools/call\"|\"tool use\"\s{0,3},|"
        r"<parameter name=|<function(?: name)?=", anywhere=True),
)
# fmt: on

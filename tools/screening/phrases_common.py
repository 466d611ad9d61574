"""Words that more than one kind of attack is made of, by language: who is meant, what takes a sentence back.

Each kind is a line per language: words with bars between them. Write them as people do: letters, accents and digits are read as
in `plaintext` (accents do not matter, but for a last é); a star leaves the ending of a word open; Arabic and Hebrew words stand
without what is written onto their front. A new language is a new line in each kind.
"""

from tools.screening.phrase_rules import Vocabulary

COMMON: Vocabulary = {
    "not": {  # takes back what follows it
        "en": "never|not|don't|dont|do not|doesn't|does not|won't|will not|wouldn't|cannot|can't|couldn't|without|nobody|no one|"
        "no need|needn't|shouldn't|avoid|refuse|refuses|isn't|aren't|stop|instead of|rather than",
        "es": "no|nunca|jamás|ni|sin|nadie|tampoco|evite|evita|evitar",
        "fr": "jamais|ne|n|sans|personne|évitez|évite|aucun|aucune|pas besoin",
        "de": "nie|niemals|nicht|kein|keine|keinen|keinem|keiner|ohne|weder|niemand",
        "pt": "não|nao|nunca|jamais|nem|sem|ninguém|evite",
        "it": "non|mai|senza|nessuno",
        "nl": "nooit|niet|geen|zonder",
        "pl": "nie|nigdy|bez",
        "id": "jangan|tidak|tanpa",
        "ru": "не|никогда|без|нельзя|никому|никто|ни",
        "uk": "ніколи|без|ні",
        "zh": "不要|不会|不會|不得|请勿|請勿|切勿|不能|不可|勿|别|別|无需|無需|不必|从不|從不|绝不|絕不|不需要|不用|严禁|禁止|不应|没有|不要求|不索要|不会索要|不收集|从未|绝不会|不接触|不涉及|无须|不该|避免|拒绝|防止|谨防|不询问|没必要|不向|不索|不收|不存",
        "ja": "絶対に|決して",
        "ko": "절대|결코",
        "ar": "لا|لن|ليس|بدون|دون|ابدا|لم|عدم|تجنب|يمنع",
        "hi": "न|ना|नहीं|मत|कभी|बिना|नही",
        "tr": "asla|hiçbir zaman|sakın|kesinlikle paylaş*|hiç",
        "fa": "هرگز|هیچ وقت|هیچگاه|بدون|نباید|نیازی به|لازم نیست|هیچ",
        "he": "אל|לא|לעולם|אסור|בלי|ללא|אין|מעולם|אף",
        "el": "μην|μη|δεν|ποτέ|χωρίς|ούτε|ουδέποτε|κανείς|κανέναν",
        "vi": "không|đừng|chưa|tuyệt đối",
    },
    "not_behind": {  # takes back what stands before it
        "de": "niemals|nicht|nie|keinesfalls|weder",
        "ja": "ないで|ません|ない|不要|禁止|せず|ことなく",
        "ko": "지 마|지 말|지 않|마세요|마십시오|않습니다|않아|없이|없습니다|금지|필요 없|아닙니다",
        "hi": "न करें|न करे|मत करो|नहीं|न दें|न भेजें|मत|न बताएं|न बताएँ",
        "tr": "değil|paylaşma*|göndermey*|gönderme|vermey*|verme|istemey*|istemiyor*|istemez*|sormay*|sormaz*|yapma|yapmay*|girmey*|"
        "yazmay*|gerekmez|gerekmiyor|etmey*|söyleme|söylemey*",
        "fa": "نکنید|نکن|ندهید|نده|نفرستید|نفرست|نگذارید|نگذار|نمی*|نخواهیم|نکنیم|نخواهید|نگویید|نیست|نداریم",
        "zh": "给任何人|給任何人|是骗子|都是诈骗",
        "ar": "ابدا",
        "he": "לעולם|אף פעם",
        "el": "ποτέ",
        "vi": "với bất kỳ ai|cho bất kỳ ai|cho ai",
        "en": "to anyone|with anyone|to anybody|with anybody",
        "es": "con nadie|a nadie|nunca",
        "pt": "com ninguém|a ninguém|nunca",
        "fr": "à personne|jamais",
        "ru": "никому|никогда",
        "it": "a nessuno|con nessuno|mai",
    },
    "still": {  # "do not hesitate to": no refusal at all
        "en": "don't hesitate|do not hesitate|don't worry|do not worry|don't forget|do not forget|never forget|don't delay|do not delay|"
        "don't be afraid|not only|don't ask|do not ask|why not|why don't you|if not|don't wait|do not wait|do not reply|don't reply|"
        "cannot be|can't be|not be able|not able|can not be|could not|couldn't|do not refuse|don't refuse|not required|does not apply",
        "es": "no dude*|no te preocupes|no se preocupe|no olvide*|no tarde*|no duden|no temas|si no|no se ha podido|no pudimos",
        "fr": "n'hésite|n'hésitez|ne t'inquiète|ne vous inquiétez|n'oubliez|n'oublie|ne tardez|ne tarde|sans délai|sans tarder|sans attendre",
        "de": "ohne zu zögern|zögern sie nicht|zögere nicht|keine sorge|vergiss nicht|vergessen sie nicht|nicht zögern|ohne verzögerung|ohne umschweife",
        "pt": "não hesite|não se preocupe|não esqueça|não demore|se não|sem demora|não foi possível|sem falta",
        "ru": "не стесняйся|не стесняйтесь|не бойся|не бойтесь|не волнуйся|не волнуйтесь|не забудь|не забудьте|не медли|не медлите|если не|"
        "иначе не|не удалось|не беспокой*",
        "zh": "不要犹豫|不要担心|别担心|別擔心|别忘|不要忘记|否则不|如不|若不|不要害怕|不能处理|不要拖延",
        "ar": "لا تتردد|لا تتردي|لا تقلق|لا تخف|لا تنس|اذا لم|ان لم|والا لن|دون تاخير|دون تردد|بدون تاخير",
        "hi": "चिंता मत|चिंता न|संकोच न|मत भूल*|न भूल*|अन्यथा नहीं|नहीं तो|बिना देरी|बिना देर|डरें नहीं",
        "tr": "çekinme*|merak etme*|unutma*|korkma*",
        "fa": "نگران نباش*|تردید نکن*|فراموش نکن*|نترس*|بدون تاخیر|بدون معطلی",
        "he": "אל תהסס*|אל תדאג*|אל תשכח*|אם לא|ללא דיחוי|בלי להסס",
        "el": "μη διστάσε*|μη διστάζε*|μην ανησυχ*|μην ξεχά*|αν δεν|εάν δεν|χωρίς καθυστέρηση",
        "vi": "đừng ngại|đừng lo|đừng quên|không ngần ngại|nếu không|đừng chần chừ|không chậm trễ",
    },
    "reported": {  # such texts are the subject here
        "en": "detect|detects|detected|detecting|detection|detector|detectors|flags|flagged|flagging|classif*|recognise|recognises|"
        "recognize|recognizes|attempts|attempting|tries to|try to|trying to|injection|injections|jailbreaks|attackers|phishing|scam|"
        "scams|scammers|phrases|sentences like|texts like|messages like|text such as|strings like|lines like|red team|red teaming|"
        "red teamer|dataset|corpus|benchmark|adversarial|robust|robustness|resist|resists|resistant|novel|story|fiction|screenplay|"
        "quote|quotes|quoted|people who|users who|anyone who|someone who|sites that|emails that|whether|if anyone|if someone|"
        "explain|explains|how to spot|training material|awareness|research|paper|survey|who asks|that asks|that ask|asks you|asking you|"
        "asks for|asking for|ask for",
        "es": "detect*|clasific*|intentos|inyección|inyecciones|estafas|estafa|estafadores|phishing|frases como|mensajes como|textos como|"
        "corpus|novela|cuento|cita|explico|explica|investigación|quien te pida|quien le pida|si alguien|que pidan|que piden|intentan",
        "fr": "détect*|classifi*|tentatives|injection|injections|arnaque|arnaques|hameçonnage|phishing|phrases comme|phrases du type|"
        "textes comme|messages comme|corpus|roman|nouvelle|citation|explique|recherche|si quelqu'un|essaient|qui demandent|cherchent à",
        "de": "erkenn*|klassifi*|versuche|versuchen|injection|injections|injektion*|betrug|betrüger|phishing|sätze wie|texte wie|formulierungen|"
        "korpus|roman|geschichte|zitat|erklär*|forschung|wenn jemand|wer dich|wer sie|angriffe|angriff|robust*|schulung*|prüft ob",
        "pt": "detec*|detet*|classific*|tentativas|injeção|injeções|golpe|golpes|golpistas|phishing|frases como|mensagens como|textos como|corpus|"
        "romance|conto|citação|explico|explica|pesquisa|se alguém|que pedem|que peçam|tentam|burla|burlas",
        "it": "rilev*|classific*|tentativi|iniezione|truff*|phishing|frasi come|testi come",
        "ru": "обнаруж*|распозна*|классифи*|определя*|попытк*|инъекц*|внедрени*|мошенни*|фишинг*|фразы вроде|фразы типа|тексты вроде|"
        "таких как|корпус*|роман|рассказ*|сюжет*|цитат*|объясня*|исследован*|если кто|пытаются|атак*|просят",
        "zh": "检测|檢測|识别|識別|分类|分類|尝试|企图|注入|攻击|攻擊|诈骗|詐騙|钓鱼|釣魚|骗子|例如|诸如|之类|数据集|语料|小说|故事|引用|解释|研究|如果有人|测试集|防御|防范|"
        "警惕|任何要求",
        "ja": "検出|検知|分類|識別|判定|試み|インジェクション|攻撃|詐欺|フィッシング|例えば|といった|という文|のような|などの文|データセット|コーパス|小説|物語|引用|解説|説明|研究|見抜",
        "ko": "탐지|감지|검출|분류|식별|판별|시도|인젝션|공격|사기|피싱|예를 들어|같은 문장|같은 문구|데이터셋|말뭉치|소설|이야기|인용|설명|연구|라는 문장|라는 문구",
        "ar": "كشف*|اكتشاف|اكتشف|تصنيف|يصنف|نصنف|اصنف|محاولات|حقن|هجمات|هجوم|احتيال|محتال*|تصيد|عبارات|مثل عبارة|رواية|قصة|اقتباس|شرح|اشرح|بحث|"
        "اذا طلب|من يطلب|يحاول*|رصد|نكشف|يكشف",
        "hi": "पहचान*|वर्गीक*|पता लगा*|प्रयास*|कोशिश*|इंजेक्शन|हमल*|धोखा*|धोखे*|ठग|ठगी|ठगों|फ़िशिंग|फिशिंग|जैसे वाक्य|जैसे*|वाक्य*|उपन्यास|कहानी|उद्धरण|समझा*|शोध|अगर कोई|"
        "यदि कोई",
        "tr": "tespit*|algıla*|sınıfland*|tanı|tanır|girişim*|deneme*|enjeksiyon*|saldırı*|dolandırıcı*|oltalama*|phishing|gibi cümle*|gibi ifade*|"
        "gibi metin*|cümleleri|roman|hikaye*|öykü*|alıntı*|açıkla*|araştırma*|isteyen|biri",
        "fa": "تشخیص|شناسایی|دسته بندی|طبقه بندی|تلاش*|تزریق|حمله*|حملات|کلاهبردار*|فیشینگ|مانند|نظیر|جملاتی|رمان|داستان|نقل قول|توضیح|پژوهش|تحقیق|"
        "اگر کسی|هر کس",
        "he": "זיהוי|מזהה|מזהים|לזהות|מסווג*|סיווג|לסווג|ניסיונות|ניסיון|הזרקה|הזרקות|התקפות|התקפה|הונאה|הונאות|נוכל*|דיוג|פישינג|כמו|כגון|משפטים|"
        "רומן|סיפור|ציטוט|מסביר|הסבר|מחקר|אם מישהו|מי שמבקש",
        "el": "εντοπίζ*|εντοπισμ*|ανιχνεύ*|ανίχνευσ*|ταξινομ*|αναγνωρίζ*|αναγνώρισ*|απόπειρ*|προσπάθει*|έγχυσ*|injection|επιθέσ*|απάτ*|απατεών*|phishing|"
        "φράσεις|προτάσεις όπως|κείμενα όπως|όπως|μυθιστόρημα|ιστορία|παράθεση|εξηγ*|έρευνα|αν κάποιος|εάν κάποιος",
        "vi": "phát hiện|nhận diện|phân loại|nhận biết|nỗ lực|cố gắng|tiêm|chèn lệnh|tấn công|lừa đảo|giả mạo|câu như|các câu|ví dụ|tiểu thuyết|"
        "câu chuyện|trích dẫn|giải thích|nghiên cứu|nếu ai|như câu|những câu",
    },
    "reported_behind": {  # ... said after the example
        "en": "attempts|attacks|injections|style attacks|in reviews|are blocked|is blocked|and similar",
        "de": "erkennt|erkennen|und ähnliche",
        "es": "y similares",
        "fr": "et autres",
        "ja": "といった文|という文|などの文|のような文|といった入力|という入力|検出|検知|分類|見抜|判定|という攻撃|などの攻撃|と書かれた",
        "ko": "같은 문장|같은 문구|라는 문장|라는 문구|같은 입력|같은 공격|탐지|감지|판별|분류|식별",
        "hi": "जैसे वाक्य*|जैसे संदेश*|की पहचान|पहचान*|का पता|जैसी|जैसे",
        "tr": "gibi cümle*|gibi ifade*|gibi metin*|gibi mesaj*|tespit*|algıla*|sınıfland*",
        "fa": "تشخیص|شناسایی|و مانند",
        "zh": "之类|这类|等提示|等文本|的检测|等语句|等攻击|的句子|这样的",
        "ru": "и подобные|и тому подобн*",
        "vi": "và các câu tương tự",
    },
    "doer": {
        "en": "i|we|they|it|he|she",
        "es": "yo|nosotros",
        "fr": "je|nous",
        "de": "ich|wir",
        "pt": "eu|nós",
        "ru": "я|мы|они",
    },
    "offer": {  # the writer does it himself
        "en": "i will send|we will send|i'll send|we'll send|i provide|we provide|i deliver|we deliver",
        "es": "te envío|le envío|ofrezco|ofrecemos|enviamos|te doy|te explico|le explico|te enseño|configuro|reviso|ayudo",
        "fr": "j'envoie|nous envoyons|je fournis|nous fournissons|j'explique|je vous aide|je configure",
        "de": "ich sende|wir senden|ich schicke|ich erkläre|ich helfe|ich liefere|wir liefern|wir prüfen|ich prüfe|ich richte",
        "pt": "ofereço|oferecemos|envio|enviamos|explico|ajudo|configuro",
        "ru": "пришлю|пришлем|отправим|отправлю|объясню|помогу|настрою|помогаем|проверяем",
        "zh": "我们提供|我提供|我们会|我会|本服务|为您|为你|帮您|帮你|帮助您|帮助你|我可以|我能|我们可以|我们将|我将|协助|可提供|服务包括",
        "ja": "提供します|教えます|お教えします|いたします|行います|支援し|作成します|説明します|代行",
        "ko": "제공합니다|드립니다|알려드려|해드립|도와|작성합니다|해 드|점검합니다",
        "ar": "نقدم|اقدم|نوفر|اوفر|نرسل لك|نساعد|اساعد|اشرح|نشرح",
        "hi": "करता हूँ|करते हैं|करती हूँ|देता हूँ|देते हैं|देती हूँ|करता हूं|मदद",
        "tr": "gönderiyorum|veriyorum|sunuyorum|sağlıyoruz|sağlıyorum|ediyorum|yapıyorum|yazıyorum|hazırlıyorum|yardım",
        "fa": "ارائه میدهم|ارائه میدهیم|می دهیم|می دهم|کمک|میدهیم|میدهم",
        "he": "אני מספק|אנו מספקים|אנחנו מספקים|נשלח לך|אשלח|עוזר ל*",
        "el": "παρέχω|παρέχουμε|στέλνω|στέλνουμε|βοηθώ|βοηθάμε|προσφέρω|προσφέρουμε",
        "vi": "chúng tôi cung cấp|tôi cung cấp|chúng tôi gửi|tôi gửi|tôi sẽ|chúng tôi sẽ|tôi giúp|chúng tôi giúp|dịch vụ|mình sẽ",
    },
    "thing": {  # of which there is an earlier one, to be left aside
        "en": "message|messages|file|version|draft|email|mail|attachment|note|upload|comment",
        "es": "mensaje|archivo|versión|borrador|adjunto|correo|fichero|nota|comentario",
        "fr": "message|fichier|version|brouillon|pièce|courriel|mail|note|commentaire",
        "de": "nachricht|datei|version|entwurf|anhang|mail|fassung|notiz|kommentar",
        "pt": "mensagem|arquivo|versão|rascunho|anexo|e mail|ficheiro|nota|comentário",
        "ru": "сообщени*|файл*|верси*|черновик*|письм*|вложени*|комментари*",
        "zh": "消息|文件|版本|草稿|邮件|附件|留言|备注",
        "ja": "メッセージ|ファイル|版|下書き|メール|添付|コメント",
        "ko": "메시지|파일|버전|초안|메일|첨부|댓글",
        "ar": "رسالة|ملف|نسخة|مسودة|بريد|مرفق|تعليق",
        "hi": "संदेश|फ़ाइल|फाइल|संस्करण|मसौदा|ईमेल|अटैचमेंट",
        "tr": "mesaj*|dosya*|sürüm*|taslak*|posta*|ek|yorum*",
        "fa": "پیام|فایل|نسخه|پیش نویس|ایمیل|پیوست",
        "he": "הודעה|הודעתי|קובץ|גרסה|טיוטה|מייל|צרופה",
        "el": "μήνυμα|μήνυμά|αρχείο|έκδοση|προσχέδιο|συνημμένο",
        "vi": "tin nhắn|tệp|phiên bản|bản nháp|email|đính kèm",
    },
    "mine": {  # the writer takes back his own words
        "en": "my|our|mine|i gave|i sent|i wrote|we gave|we sent|their|his|her|compiler|lint*|parser",
        "es": "mi|mis|nuestr*|te di|le di|envié|mandé|yo",
        "fr": "mon|ma|mes|notre|nos|j'ai",
        "de": "mein*|unser*|ich",
        "pt": "meu|minha|meus|minhas|nosso*|nossa*|enviei|mandei",
        "it": "mio|mia|miei|mie",
        "ru": "мой|мои|моё|мою|моих|моего|моей|наш*|я|моему|моим|мое",
        "zh": "我的|我们|我之前|我上|我刚|我前|我先|我发|我昨|我早",
        "ja": "私の|私が|当方|弊社|わたし|僕の|送った|送信した|お送り",
        "ko": "제가|내가|저희|우리가|보낸|보내 드린|나의",
        "ar": "رسالتي|تعليماتي|ملفي|طلبي|ارسلتها|ارسلته|ملاحظاتي|كتبتها|كتبته|طلباتي",
        "hi": "मेर*|हमार*|मैंने|हमने",
        "tr": "benim|bizim|mesajım*|talimatım*|dosyam*|talimatlarım*|gönderdiğim|yazdığım|notum*",
        "fa": "من|ما|پیامم|فایلم|فرستادم|دادم|نوشتم",
        "he": "שלי|שלנו|ששלחתי|שכתבתי|שנתתי",
        "el": "μου|μας|έστειλα|έδωσα|έγραψα",
        "vi": "của tôi|của mình|của chúng tôi|tôi đã|tôi gửi|mình gửi",
    },
    "your": {
        "en": "your|ur|yours|you",
        "es": "tu|tus|su|sus|vuestr*|te",
        "fr": "ton|ta|tes|votre|vos|tu|vous|toi|t",
        "de": "dein*|ihr|ihre|ihren|ihrer|ihrem|ihres|euer|eure*",
        "pt": "seu|sua|seus|suas|teu|tua|teus|tuas|vosso*|vossa*|você|voce",
        "it": "tuo|tua|tue|tuoi|vostr*|suo|sua",
        "nl": "je|jouw|uw",
        "pl": "twoj*|twój|swoj*|swój",
        "ru": "твой|твои|твоих|твоего|твоей|твою|твоим*|твое|твоя|ваш|ваша|ваши|ваших|вашего|вашей|вашу|вашим*|ваше|вашему|свои|свой|своих|своего|своей|свою|своим*|своё|"
        "тебя|тебе|вас|вам",
        "zh": "你|您|贵方|贵公司",
        "ja": "あなた|貴方|お前|君の|貴社|貴殿|お客様|ご自身|お使い|自分の",
        "ko": "당신|너의|너는|네가|너희|귀하|자신의|고객님|여러분|너|본인",
        "ar": "خاصتك|لديك|بك|لك|خاصة بك|تعليماتك|حسابك|محفظتك|مفتاحك|قواعدك|توجيهاتك|كلمتك|رمزك|بياناتك|عبارتك|حسابكم|محفظتكم|انت|قيودك|وكيلك",
        "hi": "तुम्हार*|आपक*|अपन*|तुम|आप|तेर*|तुझे|आपको|तुम्हें",
        "tr": "senin|sizin|sana|size|kendi|hesabın*|cüzdanın*|talimatların*|kuralların*|şifren*|parolan*|anahtarın*|sen|siz|ifadeni*",
        "fa": "تو|شما|خود|خودت|خودتان|خودش|حسابت*|حسابتان|رمزت*|دستوراتت|قوانینت|کلیدت|کیف پولت*|عبارتت*",
        "he": "שלך|שלכם|לך|לכם|הנחיותיך|הוראותיך|חשבונך|ארנקך|אתה|סיסמתך|מפתחך|כלליך",
        "el": "σου|σας|εσύ|εσείς|σε",
        "vi": "của bạn|bạn|quý khách|quý vị",
        "id": "anda|kamu",
    },
    "me": {
        "en": "me|us|here|to support|with support|to the team|to our|to my|to this|below|this chat|dm|at http|on our|in your reply|in the reply|in reply|in the output|in your output|in your answer|"
        "in your message|in your response|in the response|in the chat|in chat|so that|so we|so i|to verify|to confirm|for verification|to release|to receive|to unlock|to continue|to proceed|"
        "to complete|back",
        "es": "me|nos|aquí|a soporte|con soporte|al soporte",
        "fr": "moi|nous|ici|au support|me",
        "de": "mir|uns|hier|an den support|dem support",
        "pt": "me|nos|mim|aqui|ao suporte|comigo|conosco",
        "ru": "мне|нам|сюда|здесь|поддержк*",
        "zh": "我|我们|这里|客服|请",
        "ja": "私|こちら|当社|ここ|サポート|教えて|送って|入力して|ください|下さい|くれ|せよ|いただ",
        "ko": "저에게|나에게|우리에게|저희에게|여기|내게|고객센터|이쪽|주세요|주십시오|알려|보내|달라|줘|바랍니다|하세요|하시오",
        "ar": "لي|لنا|هنا|اعطني|ارسلي|الي|الينا|زودنا|زودني|معنا|معي",
        "hi": "मुझे|हमें|यहाँ|यहां|मुझको|हमको|साथ",
        "tr": "bana|bize|buraya|burada|benimle|bizimle",
        "fa": "من|ما|اینجا|برایم|برایمان|بهم",
        "he": "לי|לנו|כאן|אליי|אלינו|איתי|איתנו",
        "el": "μου|μας|εδώ|εμένα|εμάς",
        "vi": "tôi|chúng tôi|cho mình|ở đây|tại đây|bên mình|vào đây",
    },
}

"""Requests for keys, passwords and codes: what is wanted, and how one asks for it, by language."""

from tools.screening.phrase_rules import Vocabulary

CREDENTIALS: Vocabulary = {
    "give": {
        "en": "send|give|share|drop|provide|reveal|paste|post|dm|tell|show|submit|disclose|export|forward|email|print|output|include|message|upload|reply with|respond with|enter|type|hand over|hand us|hand me|supply|pass|attach|put|deliver|transmit|return|"
        "write|leave|fill in|input|we need|we require|i need|i require|need you|we'll need|i'll need|we will need|i will need|what is|what's|let me have|let us have|import|state|quote|list|append|log|dump|confirm|verify|validate|connect|text me|text us|communicate|echo|embed|read out|spell out|may i have|can i have|can i get|could i get|could i have|can we have|can we get|could we have|i'd like|is required|are required|is needed|are needed|be provided|be included|be submitted|be shared|be sent|be entered|surrender|log in with|sign in with|authenticate with|let me see|cat|grant us|grant me|ping me|hand it|sync|link your|reconnect|requires|require",
        "es": "envía|envíe|envíame|envíeme|envíanos|envíenos|envien|enviar|manda|mande|mándame|mándeme|mándanos|comparte|comparta|compártenos|compártela|compartir|compártelo|dame|danos|deme|denos|dar|proporciona|proporcione|proporcionar|proporciónanos|facilita|facilite|facilítanos|facilítame|introduce|introduzca|introducir|"
        "ingresa|ingrese|ingresar|indica|indique|indícanos|indícame|escribe|escriba|pega|pegue|pásame|pásanos|páseme|revela|revele|dime|díganos|dinos|remite|adjunte|incluya|necesito|necesitamos|responde con|responda con|respóndeme con|muéstrame|entrégame|teclea|confirme|"
        "verifica|exporta|imprime|reenvía|cuál es|suministre|suministra|facilíteme|facilítenos|indíqueme|indíquenos",
        "fr": "envoie|envoyez|envoyer|envoies|donne|donnez|donner|partage|partagez|partager|fournis|fournissez|fournir|communique|communiquez|communiquer|indique|indiquez|indiquer|transmets|transmettez|transmettre|saisis|saisissez|saisir|entrez|tape|tapez|colle|collez|révèle|révélez|dis|dites|poste|postez|écris|écrivez|joins|joignez|"
        "inclus|incluez|montre|montrez|remets|remettez|confirme|confirmez|vérifie|besoin de|nous faut|me faut|réponds avec|répondez avec|quel est|quelle est|affiche|affichez|exporte|renseigne|renseignez|mettez|mets|faire parvenir|parvenir|veuillez",
        "de": "sende|senden|send|schick|schicke|schicken|schickt|gib|geben|gebt|teile|teilen|teil|nenne|nennen|nenn|übermittle|übermitteln|verrate|verraten|zeig|zeige|zeigen|poste|posten|füge|fügen|eingeben|eintippen|tippe|tippen|trage|tragen|mitteilen|bereitstellen|stelle|brauche|brauchen|benötige|benötigen|antworte mit|antworten sie mit|"
        "hinterlege|hinterlegen|bestätige|bestätigen|leite|exportiere|kopiere|wie lautet|lade|schreibe|schreib|schreiben|übergib|überlass|offenbare|weiterleiten|zukommen|durchgeben|zusenden|angeben",
        "pt": "envie|envia|envie me|enviar|envies|mande|manda|mandar|compartilhe|compartilha|compartilhar|partilhe|partilha|partilhar|forneça|fornece|fornecer|informe|informa|informar|indique|me dê|dê me|nos dê|dê nos|dá me|passe|passa|passar|digite|digita|digitar|insira|insere|inserir|introduza|cole|cola|revele|revela|diga|diz|mostre|mostra|inclua|"
        "anexe|escreva|escreve|preciso|precisamos|responda com|responde com|entregue|entrega|confirme|confirma|exporte|qual é|coloque|coloca|poste|encaminhe|encaminha|submeta|facilite|imprima",
        "it": "envie|invia|inviami|invii|mandami|condividi|fornisci|dammi|comunica|inserisci|scrivi",
        "nl": "stuur|deel|geef|typ",
        "pl": "wyślij|podaj|udostępnij|wpisz",
        "id": "kirim|berikan|bagikan|masukkan",
        "ru": "пришли|пришлите|прислать|отправь|отправьте|отправить|сообщи|сообщите|сообщить|дай|дайте|дать|укажи|укажите|указать|введи|введите|ввести|скинь|скиньте|скинуть|передай|передайте|передать|поделись|поделитесь|предоставь|предоставьте|предоставить|назови|назовите|напиши|напишите|вышли|вышлите|выслать|покажи|покажите|вставь|"
        "вставьте|раскрой|раскройте|подтверди|подтвердите|нужен|нужна|нужны|нужно|требуется|требуются|необходим*|ответь|ответьте|кинь|киньте|продиктуй|впиши|впишите|перешли|перешлите|выложи|какой|каков|экспортируй|приложи|приложите",
        "zh": "发个|发一份|发过来|发下|填一下|报一下|贴一下|写上|写在|附在|放在|填入|录入|传过来|交出来|同步|发送|發送|发给|發給|发来|發來|提供|告诉|告訴|输入|輸入|分享|给我|給我|给我们|交出|贴出|粘贴|填写|填寫|告知|上传|上傳|提交|透露|回复|回覆|说出|报上|发一下|出示|发到|传给|導出|导出|写下|交给|需要您的|需要你的|发我|把你的|把您的|将你的|将您的|请将|是多少|是什么|附上|公开",
        "ja": "送って|送信して|送れ|送付|お送り|教えて|お教え|入力して|入力し|ご入力|共有して|共有し|ご共有|提供して|提供し|ご提供|知らせ|お知らせ|提示|貼り付け|貼って|返信|記入|開示|明かし|公開して|渡し|ください|下さい|連絡|伝えて|伝え|提出|アップロード|必要です|書いて|記載|明記|くれ",
        "ko": "보내|알려|입력해|입력하|공유해|공유하|제공해|제공하|전달해|전달하|말해|적어|써 주|붙여|제출|공개해|회신|답장|주세요|주십시오|넘겨|올려|필요합니다|기재|가르쳐|전송|보여|작성해|달라|줘|확인해",
        "ar": "ارسل*|ارسال|اعطني|اعطنا|اعطيني|شارك*|مشاركة|ادخل*|ادخال|زودني|زودنا|زودينا|تزويدنا|تزويدي|قدم*|تقديم|اخبرني|اخبرنا|اكتب*|كتابة|ابعث*|الصق*|اكشف*|نحتاج|احتاج|يرجى|رد|ردوا|سلم*|ضع|مشاركتنا|اظهر|اعرض|انسخ|ما هي|ما هو|موافاتنا|وافنا|صرح|افصح|هات|زود*|اذكر|تاكيد|اكد*|بعث",
        "hi": "भेज*|दें|दो|दीजिए|दीजिये|साझा|शेयर|बता*|दर्ज|डाल*|प्रदान|लिख*|दे दो|उपलब्ध|जमा|पेस्ट|चाहिए|दिखा*|सौंप*|दे दें|प्रस्तुत|देना|देने",
        "tr": "gönder|gönderin|gönderiniz|gönderir|gönderebilir*|göndermeniz|göndermelisin*|göndermen|paylaş|paylaşın|paylaşınız|paylaşır|paylaşmanız|paylaşman|paylaşmalısın*|verin|veriniz|verir|verebilir*|vermeniz|yaz|yazın|yazınız|yazmanız|gir|girin|giriniz|girmeniz|söyle|söyleyin|ilet|iletin|iletiniz|iletmeniz|bildir|bildirin|bildiriniz|"
        "bildirmeniz|yapıştır*|lazım|gerekiyor|gerekli*|ihtiyacımız|ihtiyacım|göster|gösterin|aktar|yolla|yollayın|doğrula*|nedir|ekle|ekleyin|ulaştır*|yanıtla*",
        "fa": "بفرست*|ارسال|بده|بدهید|دهید|به اشتراک|وارد|بگو|بگویید|بنویس*|ارائه|اعلام|اشتراک بگذار*|بگذار*|نیاز داریم|نیاز دارم|لازم داریم|لازم است|در اختیار|فاش|نشان|بچسبان*|پیست|کپی|لطف کن*|نشان بده*|چیست|ثبت|تایید|بدید|بفرستین|تحویل",
        "he": "שלח|שלחו|שלחי|תשלח|תשלחו|תשלחי|לשלוח|שתף|שתפו|תשתף|לשתף|תן|תנו|תני|תיתן|לתת|ספק|ספקו|לספק|מסור|מסרו|תמסור|למסור|הזן|הזינו|הזיני|להזין|הקלד|הקלידו|הדבק|הדביקו|גלה|גלו|ספר|אמור|כתוב|כתבו|צרף|צרפו|הצג|העבר|העבירו|להעביר|זקוקים|צריך|צריכים|נדרש|נדרשת|מהי|מה ה*|אשר|העלה|השב|תעביר",
        "el": "στείλε|στείλτε|στείλετε|να στείλεις|στείλεις|δώσε|δώστε|δώσεις|δώσετε|μοιράσου|μοιραστείτε|μοιραστείς|κοινοποίησε|κοινοποιήστε|παρέχετε|πληκτρολόγησε|πληκτρολογήστε|εισάγετε|εισάγεις|εισήγαγε|καταχώρισε|καταχωρίστε|καταχωρήστε|αποκάλυψε|αποκαλύψτε|γράψε|γράψτε|πες|πείτε|χρειαζόμαστε|χρειάζομαι|χρειαζόμαι|"
        "απαιτείται|επικόλλησε|επικολλήστε|απάντησε με|απαντήστε με|παράδωσε|δείξε|δείξτε|υπόβαλε|υποβάλετε|επιβεβαίωσε|επιβεβαιώστε|γνωστοποιήστε|δήλωσε|αποστείλετε|απόστειλε|προώθησε|βάλε|βάλτε|ποιος είναι|ποια είναι|συμπληρώστε|χορηγήστε|παραχώρησε",
        "vi": "gửi|cung cấp|nhập|cho tôi|cho chúng tôi|cho mình|chia sẻ|đưa|nói|tiết lộ|điền|dán|trả lời|chuyển|giao|xác nhận|nộp|tải lên|cho biết|viết|khai báo|cần cung cấp|cần mật khẩu",
    },
    "keys": {  # nobody ever needs these of another
        "en": "private key|private keys|privkey|privatekey|seed phrase|seed phrases|recovery phrase|recovery phrases|secret phrase|backup phrase|seed words|recovery words|mnemonic|mnemonics|seedphrase|private signing key|mnemonic phrase|secret recovery phrase|signing key|signing seed|wallet key|keystore file|keystore|wallet seed|12 word|24 word|twelve word|twelve words|twenty four words|12 words|24 words|wallet.dat|seed",
        "es": "clave privada|claves privadas|llave privada|llaves privadas|frase semilla|frases semilla|frase de recuperación|frase secreta|palabras de recuperación|frase mnemotécnica|frase mnemónica|palabras semilla|frase de respaldo|12 palabras|24 palabras|doce palabras|semilla|clave de firma",
        "fr": "clé privée|clés privées|cle privee|clef privée|clefs privées|phrase de récupération|phrase secrète|phrase mnémonique|phrase de sauvegarde|phrase seed|seed phrase|mots de récupération|12 mots|24 mots|douze mots|phrase de départ|clé de signature|phrase graine",
        "de": "private schlüssel|privaten schlüssel|privater schlüssel|privatem schlüssel|privatschlüssel|private key|wiederherstellungsphrase|wiederherstellungswörter|wiederherstellungssatz|seed phrase|seedphrase|seed|mnemonic|merkphrase|geheimphrase|12 wörter|24 wörter|zwölf wörter|geheimen schlüssel|geheimer schlüssel|signaturschlüssel|wallet schlüssel|wiederherstellungsschlüssel",
        "pt": "chave privada|chaves privadas|frase semente|frase de recuperação|frase secreta|palavras de recuperação|frase mnemônica|frase mnemónica|frase de backup|12 palavras|24 palavras|doze palavras|seed phrase|seed|chave de assinatura|palavras semente",
        "it": "chiave privata|chiavi private|frase seme|frase di recupero",
        "nl": "privésleutel|herstelzin",
        "pl": "klucz prywatny|klucza prywatnego|fraz* odzyskiwania",
        "id": "kunci privat|kunci pribadi|frasa benih|frasa pemulihan|frasa seed",
        "ru": "приватн* ключ*|закрыт* ключ*|секретн* ключ*|личн* ключ*|сид фраз*|сидфраз*|сид|seed фраз*|мнемони*|фраз* восстановления|слова восстановления|слов восстановления|секретн* фраз*|резервн* фраз*|12 слов|24 слова|двенадцать слов|ключ* подписи|seed|приватник*",
        "zh": "私钥|私鑰|助记词|助記詞|种子短语|種子短語|恢复短语|助记|恢复词|恢復短語|种子词|12个单词|24个单词|十二个单词|签名密钥|钱包密钥|keystore",
        "ja": "秘密鍵|シードフレーズ|リカバリーフレーズ|復元フレーズ|ニーモニック|シード|プライベートキー|復旧フレーズ|12個の単語|12単語|24単語|リカバリフレーズ|署名鍵|秘密のフレーズ|回復フレーズ",
        "ko": "개인키|개인 키|프라이빗 키|비밀키|비밀 키|시드 구문|시드 문구|시드|복구 구문|복구 문구|니모닉|12개 단어|12단어|24단어|복구 단어|서명 키|백업 구문|시드 프레이즈|12개의 단어",
        "ar": "مفتاح خاص|مفتاحك خاص|مفتاحك الخاص|المفتاح الخاص|مفاتيح خاصة|مفاتيحك الخاصة|مفتاح سري|مفتاحك السري|عبارة استرداد|عبارة الاسترداد|عبارة استعادة|عبارة الاستعادة|عبارة بذور|عبارة البذور|عبارة سرية|عبارتك السرية|عبارة الاسترداد السرية|كلمات استرداد|كلمات الاسترداد|كلمات استعادة|كلمات الاستعادة|عبارة أولية|العبارة الأولية|العبارة السرية|الكلمات السرية|12 كلمة|كلمات البذرة|مفتاح التوقيع|عبارة الاسترجاع",
        "hi": "निजी कुंजी*|प्राइवेट की|प्राइवेट कुंजी|सीड फ्रेज*|सीड वाक्यांश*|सीड|रिकवरी फ्रेज*|रिकवरी वाक्यांश|पुनर्प्राप्ति वाक्यांश*|गुप्त वाक्यांश|गुप्त कुंजी|नेमोनिक|12 शब्द*|24 शब्द*|प्राइवेट key|निजी key|private key|seed phrase|बारह शब्द*",
        "tr": "özel anahtar*|gizli anahtar*|kurtarma ifade*|kurtarma kelime*|kurtarma cümle*|tohum ifade*|tohum kelime*|seed|gizli ifade*|gizli kelime*|anımsatıcı|mnemonic|12 kelime*|24 kelime*|"
        "imza anahtar*|cüzdan anahtar*|kurtarma söz*|yedekleme ifade*|private key*",
        "fa": "کلید خصوصی*|کلید شخصی|کلید محرمانه|عبارت بازیابی|عبارت بازیابی*|عبارت امنیتی|عبارت مخفی|عبارت سری|کلمات بازیابی|کلمه بازیابی|کلمات بازیابی*|عبارت یادآور|سید فریز|دوازده کلمه|۱۲ کلمه|12 کلمه|کلید امضا*|کلید خصوصیت*|عبارت سید|عبارت پشتیبان",
        "he": "מפתח פרטי|מפתח הפרטי|המפתח הפרטי|מפתחות פרטיים|המפתחות הפרטיים|מפתחך הפרטי|מפתח סודי|המפתח הסודי|ביטוי שחזור|ביטוי השחזור|"
        "מילות שחזור|מילות השחזור|מילות הגיבוי|מילות גיבוי|משפט השחזור|משפט שחזור|צירוף השחזור|ביטוי הגרעין|ביטוי סודי|ביטוי זרע|סיד|12 המילים|שתים עשרה|12 מילים|מפתח החתימה|seed",
        "el": "ιδιωτικό κλειδί|ιδιωτικού κλειδιού|ιδιωτικά κλειδιά|ιδιωτικών κλειδιών|μυστικό κλειδί|φράση ανάκτησης|φράση επαναφοράς|φράσης ανάκτησης|λέξεις ανάκτησης|μυστική φράση|μνημονική φράση|μνημονικό|12 λέξεις|24 λέξεις|δώδεκα λέξεις|seed|ιδιωτικό σου κλειδί|"
        "ιδιωτικό σας κλειδί|κλειδί υπογραφής|φράση σπόρου|φράση ασφαλείας|φράση seed|το ιδιωτικό κλειδί",
        "vi": "khóa riêng|khoá riêng|khóa bí mật|khoá bí mật|khóa cá nhân|khoá cá nhân|khóa riêng tư|khoá riêng tư|cụm từ khôi phục|cụm từ bí mật|cụm từ hạt giống|cụm từ gốc|seed|mnemonic|private key|12 từ|24 từ|mười hai từ|từ khôi phục|cụm từ ghi nhớ|cụm từ sao lưu",
    },
    "secret": {
        "en": "id rsa|ssh keys|ssh key|env|dotenv|aws credentials|auth header|authorization header|login credentials|2fa|mfa|pass phrase|passcode|account details|auth code|six digit code|recovery codes|api key|api keys|apikey|api token|api tokens|api secret|api secrets|api credentials|secret key|secret keys|access key|access keys|access token|access tokens|bearer token|auth token|authentication token|session token|session cookie|session cookies|cookies|refresh token|passphrase|passphrases|password|passwords|passwd|credentials|login details|login|logins|pin|pin code|pincode|otp|"
        "one time code|one time password|verification code|security code|2fa code|2fa codes|authenticator code|backup codes|client secret|ssh key|environment variables|env file|service account|as live|secrets|sms code|webhook secret|oauth token|signing secret|bank details|card number|cvv|master key|admin key|encryption key|admin token|confirmation code",
        "es": "contraseña|contraseñas|clave api|claves api|clave de api|claves de api|clave secreta|claves secretas|clave de acceso|claves de acceso|credenciales|token|tokens|código de verificación|código de seguridad|código de un solo uso|código sms|pin|datos de acceso|llave api|llave de api|código 2fa|api key|api keys|secretos|variables de entorno|código de confirmación",
        "fr": "mot de passe|mots de passe|clé api|clés api|clé d'api|clés d'api|cle api|clé secrète|clés secrètes|identifiants|identifiants de connexion|jeton|jetons|jeton d'accès|token|tokens|code de vérification|code de sécurité|code à usage unique|code sms|code pin|code 2fa|clé d'accès|clef api|api key|variables d'environnement|code de confirmation",
        "de": "passwort|passwörter|kennwort|kennwörter|zugangsdaten|anmeldedaten|logindaten|login daten|api schlüssel|apischlüssel|api key|api keys|api token|zugriffstoken|zugangstoken|zugangsschlüssel|token|tokens|bestätigungscode|sicherheitscode|verifizierungscode|einmalcode|sms code|pin|tan|2fa code|umgebungsvariablen|zugriffsschlüssel|passphrase",
        "pt": "senha|senhas|palavra passe|palavras passe|chave api|chaves api|chave de api|chaves de api|chave da api|chave secreta|chaves secretas|chave de acesso|credenciais|token|tokens|código de verificação|código de segurança|código sms|pin|dados de acesso|dados de login|código 2fa|api key|variáveis de ambiente|login|código de confirmação",
        "it": "password|chiave api|credenziali",
        "nl": "wachtwoord|wachtwoorden|api sleutel",
        "pl": "hasło|hasła|hasło|klucz api|klucza api",
        "id": "kata sandi|kunci api|sandi",
        "ru": "парол*|api ключ*|апи ключ*|ключ* api|ключ* апи|ключ* доступа|токен*|учетн* данн*|данные для входа|логин*|код подтверждения|код из смс|проверочный код|одноразовый код|пин код|пин|код безопасности|код 2fa|код двухфакторной|реквизиты доступа|кодовую фразу",
        "zh": "密码|密碼|口令|api密钥|api密鑰|apikey|api key|密钥|密鑰|访问令牌|令牌|凭证|凭据|憑證|验证码|驗證碼|登录信息|登陆信息|安全码|token|动态码|登录凭证|账号密码|pin码|api 密钥|访问密钥|确认码",
        "ja": "パスワード|apiキー|api キー|アクセスキー|アクセストークン|トークン|認証情報|ログイン情報|認証コード|確認コード|暗証番号|ワンタイムコード|ワンタイムパスワード|セキュリティコード|資格情報|パスフレーズ|シークレットキー|クレデンシャル|pinコード",
        "ko": "비밀번호|패스워드|api키|api 키|액세스 키|액세스 토큰|접근 토큰|토큰|인증 정보|로그인 정보|인증번호|인증 번호|인증 코드|보안 코드|자격 증명|암호|"
        "핀 번호|핀번호|일회용 코드|otp|시크릿 키|확인 코드|패스프레이즈",
        "ar": "كلمة مرور|كلمة المرور|كلمة مرورك|كلمات مرور|كلمة سر|كلمة السر|كلمة سرك|كلمتك السرية|مفتاح api|مفتاح ال api|مفتاح واجهة|مفتاحك api|رمز تحقق|رمز التحقق|رمز دخول|رمز الدخول|رمز وصول|رمز الوصول|رموز وصول|بيانات دخول|بيانات الدخول|بيانات تسجيل|بيانات الاعتماد|بيانات اعتماد|رمز سري|الرمز السري|رمزك السري|رمز التأكيد|مفتاح الوصول|رمز امان|رمز الأمان",
        "hi": "पासवर्ड*|एपीआई कुंजी*|api कुंजी*|एपीआई की|api की|"
        "api key|पासकोड|ओटीपी|otp|सत्यापन कोड|पिन|टोकन|लॉगिन*|क्रेडेंशियल*|गुप्त कोड|एक्सेस टोकन|सुरक्षा कोड|पासफ्रेज*",
        "tr": "şifre|şifren*|şifrey*|şifresi*|parola|parolan*|parolay*|parolası*|api anahtar*|api key*|erişim anahtar*|erişim jeton*|erişim belirtec*|jeton*|token*|giriş bilgi*|kimlik bilgi*|doğrulama kod*|güvenlik kod*|tek kullanımlık*|pin kod*|pin|onay kod*|sms kod*",
        "fa": "رمز عبور*|گذرواژه*|پسورد*|کلمه عبور*|رمز ورود|رمزت|رمزتان|رمز حساب|کلید api|کلید ای پی آی|توکن*|"
        "کد تایید|کد تأیید|کد یکبار مصرف|اطلاعات ورود|کد امنیتی|رمز دوم|کلید دسترسی|کد پیامک*|پین کد|رمز یکبار",
        "he": "סיסמה|סיסמא|סיסמת|סיסמתך|סיסמאות|סיסמאותיך|מפתח api|מפתח ה api|מפתחות api|מפתח ה api|אסימון|אסימונים|טוקן|קוד אימות|קוד האימות|קוד סודי|פרטי כניסה|פרטי הכניסה|פרטי התחברות|פרטי ההתחברות|פרטי גישה|קוד אבטחה|מפתח גישה|קוד חד פעמי|מפתח ה|סיסמתכם",
        "el": "κωδικό πρόσβασης|κωδικός πρόσβασης|κωδικού πρόσβασης|κωδικούς πρόσβασης|κωδικό|κωδικό σου|"
        "κωδικούς|συνθηματικό|κλειδί api|κλειδιά api|api key|διαπιστευτήρια|στοιχεία σύνδεσης|στοιχεία εισόδου|κωδικό επαλήθευσης|token|pin|κλειδί πρόσβασης|κωδικό μιας|κωδικό επιβεβαίωσης|κλειδί του api",
        "vi": "mật khẩu|khóa api|khoá api|api key|mã xác minh|mã xác nhận|mã otp|otp|mã pin|thông tin đăng nhập|token|mã thông báo|mã bảo mật|khóa truy cập|mã truy cập|tài khoản và mật khẩu",
    },
    "topic": {  # "password policy", "management of private keys": a subject, no request
        "en": "management|handling|storage|rotation|rotations|policy|policies|security|audit|audits|generation|generator|hygiene|leak|leaks|leakage|exposure|reset|resets|strength|manager|managers|protected|protection|field|fields|form|hash|hashes|hashing|page|pages|screen|flow|flows|scanner|scanning|usage|limit|limits|"
        "encryption|derivation|recovery|validation|validator|vault|vaults|best|vs|versus|lifecycle|parameter|header|headers|name|names|format|scheme|system|systems|support|count|counts|prices|pricing|usage|per|budget|bucket|bytes|words|issue|issues|problem|expiry|expires|expired|works|work|is stored|are stored|stored|guide|tutorial|article|theft|"
        "forgotten|forgot|leaked|lost|of fonts|button|tests|test|design|oil|funding|round|investors|starters|data|file with|corn|values|attacks|cracking",
        "es": "gestión|gestionar|auditoría|rotación|almacenamiento|manejo|seguridad|protegid*|generador|restablecimiento|política|fuga*|custodia|perdid*|olvidad*",
        "fr": "gestion|audit|rotation|stockage|sécurité|protégé*|générateur|réinitialisation|politique|fuite*|oublié|oubliés|perdue?",
        "de": "verwaltung|verwaltungs*|geschützt*|rotation|speicherung|sicherheit|audit|umgang|generator|zurücksetzen|richtlinie*|schutz|manager|managern|vergessen*|verlust|stärke",
        "pt": "gestão|gerenciamento|gerenciador*|auditoria|rotação|armazenamento|segurança|protegid*|gerador|redefinição|política|vazament*|perdid*|esquecid*",
        "ru": "управлени*|аудит*|ротаци*|хранени*|безопасност*|защищен*|генератор*|сброс*|политик*|утеч*|менеджер*|обращени*|потер*|забыт*",
        "zh": "保护|保護|管理|强度|轮换|审计|存储|安全审|泄露|泄漏|生成|重置|策略|找回|处理方式|器|学|管理器|忘记",
        "ja": "管理|保護|付き|強度|監査|ローテーション|保管|漏えい|漏洩|生成|リセット|ポリシー|再設定|取り扱い|扱い|忘れ",
        "ko": "관리|보호|강도|감사|교체|저장|보관|유출|생성|재설정|정책|취급|처리 방식|순환|로테이션|분실",
        "ar": "ادارة|تدقيق|تخزين|تدوير|حماية|محمي*|توليد|تسريب|تسرب|سياسة|نسيت|استعادة كلمة|اعادة تعيين|محمية",
        "hi": "प्रबंधन|ऑडिट|भंडारण|सुरक्षित रख*|सुरक्षा जांच|लीक|रीसेट|संरक्षित|मैनेजर|रोटेशन|नीति|जनरेटर|भूल*",
        "tr": "yönetim*|denetim*|saklama*|koruma*|korumalı|sızıntı*|üretici*|sıfırlama*|politika*|rotasyon*|döndürme*|güvenliği|unut*",
        "fa": "مدیریت|ممیزی|ذخیره*|نگهداری|چرخش|محافظت|رمزدار|نشت|تولید|بازنشانی|سیاست|حسابرسی|فراموشی",
        "he": "ניהול|ביקורת|אחסון|סבב|מוגן|מוגנת|מוגנים|דליפ*|איפוס|מדיניות|טיפול|מנהל|שכחת|מחולל",
        "el": "διαχείριση*|έλεγχο*|αποθήκευση*|εναλλαγή*|προστατευ*|διαρροή*|διαρροές|επαναφορά|πολιτική|ασφάλεια|χειρισμ*|γεννήτρια",
        "vi": "quản lý|kiểm toán|lưu trữ|xoay vòng|bảo vệ|rò rỉ|đặt lại|chính sách|trình quản|bảo mật của|kiểm tra độ mạnh|quên",
    },
    "asked": {
        "en": "how many|how to|how your|how you|whether|number of",
        "es": "cuántas|cuántos|cómo",
        "fr": "combien|comment",
        "de": "wie viele|wie|ob",
        "pt": "quantas|quantos|como",
        "ru": "сколько|как",
        "zh": "多少个|几个|如何",
        "ja": "いくつ|どのように",
        "ko": "몇 개|어떻게",
    },
    "giver": {  # who gives is not asked to
        "en": "i|we|they|he|she|it|users|customers|clients|people|who|which|that|and i|clients can|users can",
        "es": "yo|nosotros|se|usuarios|clientes|que",
        "fr": "je|on|utilisateurs|clients|qui",
        "de": "ich|wir|nutzer|kunden|die|der",
        "pt": "eu|nós|se|usuários|clientes|que",
        "ru": "я|мы|они|пользователи|клиенты|который|которые",
        "tr": "kullanıcılar|müşteriler|ben|biz",
    },
}

"""Orders to drop one's orders, to hide something from one's owner, to serve the writer of a text: by language."""

from tools.screening.phrase_rules import Vocabulary

OVERRIDE: Vocabulary = {
    "dismiss": {
        "en": "ignore|ignored|disregard|disregarded|forget|forgotten|override*|overrule*|bypass|skip|discard|discarded|dismiss|neglect|abandon|erase|wipe|void|nullif*|null and void|revoked|rescind*|"
        "supersede*|overwrite|overwrites|set aside|put aside|cast aside|throw out|throw away|toss out|do not follow|don't follow|dont follow|stop following|stop obeying|do not obey|don't obey|"
        "no longer follow|no longer apply|don't apply|do not apply|no longer valid|no longer in force|pay no attention|take no notice|never mind|disobey|ditch|scrap|cease following|unlearn|"
        "circumvent|no longer bind*|ignor|ignroe|disregrad|stop listening|are cancelled|are canceled|need not follow|not need to follow|don't need to follow|not bound by|not have to follow|don't have to follow",
        "es": "ignora|ignore|ignorar|ignores|ignorad|ignoren|ignóralas|ignorando|olvida|olvide|olviden|olvidar|olvídate|olvídese|olvidaos|descarta|descarte|descartar|desatiende|desatienda|desoye|desoiga|"
        "desestima|desestime|omite|omita|omitir|pasa por alto|pase por alto|haz caso omiso|haga caso omiso|hagan caso omiso|hacer caso omiso|no hagas caso|no haga caso|no sigas|no siga|deja de seguir|"
        "deje de seguir|deja de lado|deje de lado|prescinde|prescinda|anula|anule|sáltate|sáltese|no obedezcas|deja de obedecer|sin efecto|anulad*|no tengas en cuenta|no tenga en cuenta|borra de tu|sustituye*",
        "fr": "ignore|ignorez|ignorer|ignorons|ignores|oublie|oubliez|oublier|néglige|négligez|négliger|écarte|écartez|ne tiens pas compte|ne tenez pas compte|ne tenez plus compte|ne tiens plus compte|"
        "tiens plus compte|sans tenir compte|fais abstraction|faites abstraction|faire abstraction|ne suis pas|ne suis plus|ne suivez pas|ne suivez plus|cesse de suivre|cessez de suivre|arrête de suivre|"
        "arrêtez de suivre|passe outre|passez outre|outrepasse*|contourne|contournez|fais fi|faites fi|laisse tomber|laissez tomber|laisse de côté|laissez de côté|mets de côté|mettez de côté|abandonne|"
        "abandonnez|ne respecte pas|ne respecte plus|ne respectez plus|n'obéis plus|n'obéissez plus|n'obéis pas|ne prends pas en compte|ne prenez pas en compte|désobéis*|annulées|caduques|plus valables",
        "de": "ignorier*|vergiss|vergesst|vergessen|missacht*|verwirf|verwerfen|verwerft|setz dich über|setze dich über|setzen sie sich über|umgehe|umgehen|umgeh|übergehe|übergeh|übergehen|überspring*|"
        "überschreib*|außer acht|lösch*|hör auf|höre auf|lass beiseite|nicht mehr beacht*|nicht beacht*|nicht mehr befolg*|nicht befolg*|keine beachtung|keine rücksicht|hinfällig|ungültig|außer kraft|"
        "aufgehoben|annullier*|gelten nicht mehr|gilt nicht mehr|widersetz*|pfeif auf|nicht mehr halten|nicht mehr an",
        "pt": "ignore|ignora|ignorem|ignorar|ignorando|ignores|esquece|esqueça|esqueçam|esquecer|desconsider*|descarte|descarta|despreze|despreza|desrespeite|não siga|não sigas|não obedeça|deixe de seguir|"
        "deixa de seguir|pare de seguir|para de seguir|deixe de lado|deixa de lado|não leve em conta|não considere|não ligue para|pule|omita|anule|contorne|sobrescreva|abandone|passe por cima|apague|sem efeito",
        "it": "ignora|ignori|ignorate|ignorare|dimentica|dimentichi|dimenticate|dimenticare|trascura|trascuri|tralascia|scarta|non seguire|non segua|smetti di seguire|non tenere conto|lascia perdere",
        "nl": "negeer|negeert|vergeet|sla over",
        "pl": "zignoruj*|ignoruj*|zapomnij*|pomiń*|odrzuć*|nie przestrzegaj",
        "uk": "ігнор*|проігнор*|забудь*",
        "id": "abaikan|lupakan|hiraukan",
        "ru": "игнорируй*|игнорировать|проигнорируй*|проигнорировать|игнорь|забудь|забудьте|забыть|забей|позабудь*|отбрось*|отмени|отмените|отменяются|пренебре*|не обращай внимания|не обращайте внимания|"
        "не следуй|не следуйте|не слушай|не слушайся|не выполняй|не выполняйте|не учитывай|не учитывайте|не соблюдай*|не придерживай*|перестань следовать|перестаньте следовать|перестань выполнять|"
        "прекрати следовать|обойди|обойдите|нарушь*|сотри|сотрите|выброси*|отложи в сторону|не принимай во внимание|не принимайте во внимание|утратили силу|недействительн*|не действуют|не действует|плюнь",
        "zh": "忽略|忽视|忽視|无视|無視|忘记|忘記|忘掉|忘了|不要遵守|不要理会|不要理會|别管|別管|不用管|不要管|不必理会|不用理会|无需理会|不再遵守|无需遵守|不必遵守|不用遵守|不要遵循|无需遵循|停止遵守|停止遵循|停止执行|抛开|拋開|抛弃|抛到|摒弃|"
        "丢弃|绕过|繞過|跳过|推翻|覆盖|覆蓋|作废|作廢|废除|清除|清空|违反|无须遵守|不再遵循|置之不理|撇开|失效|不要听|别听|别理|別理|别再遵守|别遵守|别再听|无效|不要执行|不执行|别按|不要按|停用",
        "ja": "無視|忘れ|破棄|従わない|従わず|従わなく|従うな|守らなく|守らない|守るな|従う必要はな|気にしない|気にせず|取り消|無効|放棄|捨て|考慮しない|却下|上書き|度外視|リセット|従うのをやめ|撤回",
        "ko": "무시|잊어|잊고|잊으|따르지 마|따르지 말|따르지 않|듣지 마|듣지 말|신경 쓰지|버려|버리고|폐기|무효|건너뛰|재정의|우회|초기화|따를 필요 없|지키지 마|그만 따르|제쳐",
        "ar": "تجاهل*|انس|انسي|انسوا|تناس*|اهمل|لا تتبع|لا تتبعي|لا تتبعوا|لا تلتزم|لا تتقيد|لا تطع|توقف عن اتباع|تخط|تخطي|تجاوز|تخلص|دع عنك|دعك|اترك|الغ|الغي|احذف|لا تلتفت|لا تكترث|غض النظر|اصرف النظر|ضرب*|لاغية|"
        "لا تعمل|ملغاة",
        "hi": "अनदेखा|अनदेखी|अनसुना|नज़रअंदाज*|नजरअंदाज*|नज़रंदाज*|नजरंदाज*|उपेक्षा|भूल|भूलकर|भूलें|मत मान*|न मान*|पालन न कर*|पालन मत कर*|पालन करना बंद|ध्यान न दें|ध्यान मत दो|ध्यान मत दें|छोड़ दो|छोड़ दें|छोड़ो|रद्द|हटा दो|"
        "इग्नोर|दरकिनार|किनारे|मानना बंद",
        "tr": "yok say*|yoksay*|görmezden gel*|göz ardı et*|gözardı et*|dikkate alma*|unut|unutun|unutunuz|unutup|boş ver*|boşver*|önemseme*|aldırma*|aldırış etme*|uyma|uymayın|uymayı bırak*|takip etme|"
        "takip etmeyi bırak*|geçersiz|hükümsüz|bir kenara*|es geç*|kulak asma*|çiğne|devre dışı|ihmal et*|dinleme|ignore et*",
        "fa": "نادیده بگیر*|نادیده گرفت*|نادیده|فراموش کن*|فراموش نمایید|بی خیال|بیخیال|توجه نکن*|توجهی نکن*|پیروی نکن*|عمل نکن*|رعایت نکن*|دنبال نکن*|کنار بگذار*|کنار بذار*|لغو کن*|دور بریز*|بی توجه*|چشم پوشی*|از یاد ببر*|"
        "صرف نظر*|گوش نده*|گوش نکن*|باطل|منسوخ|پاک کن*|اهمیت نده*|زیر پا*|دور بزن*|اعتنا نکن*",
        "he": "התעלם|התעלמי|התעלמו|תתעלם|תתעלמי|תתעלמו|להתעלם|שכח|שכחי|שכחו|תשכח|תשכחי|תשכחו|לשכוח|אל תציית|אל תצייתו|אל תפעל לפי|אל תמלא|הפסק לציית|הפסק למלא|הפסק לפעול|עזוב|זנח|בטל|בטלו|דלג|עקוף|עקפו|מחק|"
        "אל תשים לב|אל תתייחס|אל תתייחסו|אינן תקפות|בטלות|בטלים|הפר|השלך",
        "el": "αγνόησε|αγνοήστε|αγνοείστε|αγνοείς|αγνοήσεις|αγνοήσετε|αγνόησέ|αγνοώντας|αγνοηθούν|αγνοείτε|ξέχνα|ξέχασε|ξεχάστε|ξεχάσεις|ξεχάσετε|παράβλεψε|παραβλέψτε|παράκαμψε|παρακάμψτε|παράλειψε|παραλείψτε|μην ακολουθείς|"
        "μην ακολουθείτε|μην ακολουθήσεις|μην υπακούς|μην υπακούτε|μη λάβεις υπόψη|μη λαμβάνεις υπόψη|μην λάβετε υπόψη|μη λάβετε υπόψη|μην τηρείς|μην τηρείτε|σταμάτα να|σταματήστε να|απόρριψε|απορρίψτε|διάγραψε|διαγράψτε|"
        "ακύρωσε|ακυρώστε|στην άκρη|μη δώσεις σημασία|μη δίνεις σημασία|μη δίνετε σημασία|παραμέρισε|άκυρες|δεν ισχύουν|πέτα|πέταξε",
        "vi": "bỏ qua|phớt lờ|lờ đi|quên đi|quên hết|quên tất cả|hãy quên|quên mọi|không tuân theo|đừng tuân theo|đừng làm theo|không làm theo|ngừng tuân theo|ngừng làm theo|gạt bỏ|gạt sang|loại bỏ|vô hiệu|hủy bỏ|huỷ bỏ|bỏ hết|"
        "đừng để ý|không cần tuân|không cần theo|mặc kệ|xoá bỏ|xóa bỏ|đừng nghe|dẹp|không cần quan tâm|đừng quan tâm",
    },
    "heed": {
        "de": "beachte|beachten|befolge|befolgen|folge|folgen|berücksichtige|berücksichtigen|halte dich|halten sie sich"
    },
    "orders": {
        "en": "instruction|instructions|instuctions|instrutions|prompt|prompts|directive|directives|guardrail|guardrails|programming|directions|system message|system messages|safety rules|safety guidelines|safety policy|"
        "safety policies|safety filters|operating rules|safeguards",
        "es": "instrucción|instrucciones|indicación|indicaciones|directriz|directrices|directiva|directivas|consigna|consignas|prompt|prompts",
        "fr": "instruction|instructions|consigne|consignes|directive|directives|prompt|prompts|"
        "invite système|garde fou*",
        "de": "anweisung*|instruktion*|anordnung*|vorgabe|vorgaben|prompt*|systemprompt*|direktive*|weisung|weisungen|befehl|befehle|befehlen|systemanweisung*|sicherheitsvorgaben|sicherheitsrichtlinien|"
        "sicherheitsregeln",
        "pt": "instrução|instruções|orientação|orientações|diretriz|diretrizes|diretiva|diretivas|prompt|prompts|comandos|diretivas",
        "it": "istruzion*|prompt|direttiv*",
        "nl": "instructie*",
        "pl": "instrukcj*|polecen*",
        "uk": "інструкц*|вказівк*",
        "id": "instruksi|arahan|perintah",
        "ru": "инструкц*|указани*|директив*|промпт*|промт*|предписани*|распоряжени*|наставлени*|установки",
        "zh": "指令|指示|提示词|提示詞|系统提示|系統提示|系统设定|命令|指引|提示",
        "ja": "指示|命令|プロンプト|インストラクション|指令|指図|システムメッセージ",
        "ko": "지시|명령|지침|프롬프트|인스트럭션|지령",
        "ar": "تعليمات*|اوامر*|توجيهات*|ارشادات*|ايعازات|تعليماتي",
        "hi": "निर्देश*|आदेश*|हिदायत*|प्रॉम्प्ट*|प्राम्प्ट*|अनुदेश*|इंस्ट्रक्शन*",
        "tr": "talimat*|yönerge*|komut*|direktif*|emir|emirler*|emri|sistem istem*|istemleri*|istemi|"
        "istemini|prompt*|sistem mesaj*",
        "fa": "دستور|دستورات*|دستورها*|دستورهای|دستورالعمل*|فرمان*|پرامپت*|رهنمود*|فرامین|دستورهایی",
        "he": "הוראה|הוראות*|הוראותיך|הנחיה|הנחיות*|פקודה|פקודות*|פרומפט*|הנחיותיך",
        "el": "οδηγία|οδηγίες|οδηγιών|εντολή|εντολές|εντολών|προτροπή|προτροπές|κατευθύνσεις|υποδείξεις|prompt",
        "vi": "hướng dẫn|chỉ dẫn|chỉ thị|lời nhắc|mệnh lệnh|câu lệnh|lệnh|prompt",
    },
    "rules": {
        "en": "rule|rules|guideline|guidelines|command|commands|context|training|policy|policies|restrictions|constraints|limitations|orders you|briefing|principles|system settings|boundaries",
        "es": "regla|reglas|orden|órdenes|norma|normas|política|políticas|restriccion*|límites|pautas|comandos|lineamientos|contexto",
        "fr": "règle|règles|ordre|ordres|contraintes|restrictions|limites|contexte|recommandations|limitations",
        "de": "regel|regeln|richtlinie|richtlinien|vorschrift*|einschränkung*|kontext|beschränkung*|leitlinien|programmierung",
        "pt": "regra|regras|ordem|ordens|norma|normas|política|políticas|restrição|restrições|limites|contexto|comando",
        "it": "regole|comandi|ordini|limiti",
        "nl": "regels",
        "pl": "zasad*",
        "uk": "правил*",
        "id": "aturan",
        "ru": "правил*|команд*|приказ*|ограничени*|настройк*|контекст*|политик*|запрет*|установк*",
        "zh": "规则|規則|约束|約束|限制|设定|設定|要求|准则|準則|对话|上下文|设置|政策|守则|规定",
        "ja": "ルール|規則|制約|制限|設定|ガイドライン|方針|規約|文脈|ポリシー",
        "ko": "규칙|제한|제약|설정|가이드라인|정책|맥락|규정",
        "ar": "قواعد*|قوانين*|قيود*|سياسات*|سياسة|ضوابط|سياق|احكام",
        "hi": "नियम*|प्रतिबंध*|सीमा*|नीति*|कमांड*|बातें|बातों",
        "tr": "kural*|kısıtlama*|sınırlama*|politika*|bağlam*|ilke*",
        "fa": "قوانین*|قواعد|محدودیت*|قانون|راهنما*|سیاست*|مقررات",
        "he": "כללים|כללי|חוקים|מגבלות|הגבלות|מדיניות|נהלים|הקשר",
        "el": "κανόνα*|κανόνες|κανόνων|περιορισμ*|πολιτική|πολιτικές|κατευθυντήριες",
        "vi": "quy tắc|quy định|giới hạn|ràng buộc|chính sách|luật|nguyên tắc|ngữ cảnh",
    },
    "prior": {
        "en": "previous|previously|pervious|prior|above|earlier|preceding|foregoing|original|initial|initially|before|old|former|past|so far|until now|up to now|up to this point|that came|system|system's|safety|you were given|given to you|"
        "you were told|you received|you have received|you've received|you've been given|you have been given|you got|given by|set by|from your|by your|by the developer*|from the developer*|by the operator|you have|thus far|other|"
        "you follow|built in|hidden|internal|platform|platform's|marketplace|marketplace's|owner's|operator's|developer's|user's|your owner|your operator|your developer*|your creator*",
        "es": "anterior|anteriores|anteriormente|previ*|precedente|precedentes|arriba|inicial|iniciales|original|originales|del sistema|de sistema|antes|dadas|dado|hasta ahora|recibid*|que te dieron|que te han dado|que recibiste|que te dio|"
        "de seguridad|de tu operador|de tu dueño|de tu propietario|que tengas|que tienes|que le dieron|que haya recibido|hasta aquí|de la plataforma|tu usuario|del usuario|del operador",
        "fr": "précédent|précédents|précédente|précédentes|précède|antérieur*|ci dessus|plus haut|dessus|initial|initiale|initiales|initiaux|d'origine|originales|du système|système|avant|jusqu'ici|jusqu'à présent|reçues|reçu|reçus|qui t'ont|"
        "qui vous ont|qu'on t'a|qu'on vous a|préalables|de sécurité|de ton opérateur|de votre opérateur|de ton propriétaire|de la plateforme|de l'utilisateur|de l'opérateur",
        "de": "vorherig*|bisherig*|obig*|früher*|vorig*|vorangegangen*|vorangehend*|vorstehend*|ursprünglich*|anfänglich*|zuvor|vorher|davor|oben|bislang|bisher|system|systems|gegeben*|erhalten*|erteilt*|bestehend*|deines betreibers|"
        "ihres betreibers|alten|alte|letzten|deines entwicklers|der plattform|des nutzers|des betreibers",
        "pt": "anterior|anteriores|anteriormente|prévi*|precedente*|acima|inicial|iniciais|original|originais|do sistema|de sistema|antes|recebid*|dadas|que te deram|que lhe deram|que você recebeu|que recebeste|até agora|até aqui|de segurança|"
        "do seu operador|do operador|do desenvolvedor|que recebeu|passadas|da plataforma|do usuário",
        "it": "precedent*|sopra|iniziali|originali|di sistema|del sistema|ricevute|finora",
        "nl": "eerdere|eerder|voorgaande|vorige|bovenstaande",
        "pl": "poprzedni*|wcześniejsz*|powyższ*|systemow*",
        "uk": "попередн*|вище|системн*",
        "id": "sebelumnya|di atas|sistem|awal",
        "ru": "предыдущ*|прежн*|системн*|выше|вышеуказан*|вышеизложен*|ранее|раньше|прошл*|первоначальн*|исходн*|изначальн*|полученн*|данные тебе|данные вам|до этого|до сих пор|предшествующ*|старые|старых|начальн*|своего владельца|"
        "своего оператора|твоего владельца|твоего оператора|разработчик*|тебе дали|вам дали|тебе давали|платформ*|владельц*|оператор*",
        "zh": "之前|以前|先前|以上|上面|上述|此前|前面|原有|原来|原來|原始|初始|前述|早先|早前|系统|系統|到目前为止|收到的|给你的|給你的|旧的|过去|开发者|你得到|上文|安全|主人|平台|用户",
        "ja": "これまで|以前|前の|上記|上の|先の|先ほど|今まで|それまで|従来|元の|最初の|初期|システム|以上の|前述|与えられた|受け取った|過去の|既存|開発者|古い|直前|事前|ここまで|安全|プラットフォーム|ユーザー",
        "ko": "이전|앞의|앞선|위의|위에|상기|기존|지금까지|여태|원래|초기|최초|시스템|받은|주어진|그동안|이제까지|먼저|종전|앞서|과거|개발자|이때까지|전의|사전|안전|지금껏|플랫폼|사용자|주인",
        "ar": "سابق*|اعلاه|سالف*|متقدم*|اولي*|اصلي*|قبل|نظام|قديم*|سبق*|ماضي*|حتى الان|معطاة|مسبق*|تلقيتها|تلقيته|اعطيت*|مطور*|سلام*|مشغلك|مالكك|وردت|منصة|مستخدم*|مالك*",
        "hi": "पिछल*|पूर्व*|पहले|ऊपर|उपर|अब तक|पुरान*|मूल|सिस्टम|प्रारंभिक|शुरुआती|दिए गए|दी गई|मिले|मिली|उपरोक्त|विगत|इससे पहले|सुरक्षा|पूर्ववर्ती|मालिक*|प्लेटफ़ॉर्म",
        "tr": "önceki*|evvelki*|daha önce*|yukarıdaki*|yukarıda|geçmiş|eski|ilk|orijinal|sistem*|verilen|sana verilen|size verilen|aldığın*|şimdiye kadar*|bundan önce*|başlangıç*|mevcut|özgün|geliştirici*|güvenlik|platform*|kullanıcı*|sahib*",
        "fa": "قبلی*|پیشین*|قبل|بالا|فوق|سابق*|گذشته|اولیه|اصلی|سیستم*|سامانه|پیش از این|تا کنون|تاکنون|داده شده|داده اند|یادشده|ذکر شده|مذکور|قدیمی|گفته شده|پیش|دریافت*|توسعه دهنده|ایمنی|امنیتی|تا الان|تا اینجا",
        "he": "קודמ*|קודם|לעיל|למעלה|שלמעלה|מקורי*|ראשוני*|מערכת|עד כה|עד עכשיו|שקיבלת|שניתנו|שנתנו|שלפני|לפני כן|מוקדמ*|ישנות|קיימות|יצרן|בטיחות|שקיבלתם|שנמסרו",
        "el": "προηγούμεν*|παραπάνω|ανωτέρω|πιο πάνω|αρχικ*|προγενέστερ*|πρότερ*|προϋπάρχ*|συστήματος|μέχρι τώρα|ως τώρα|έως τώρα|που σου|που έλαβες|που σας|που έχεις|πριν|παλιές|παλιούς|υπάρχουσες|δοθεί|ασφαλείας",
        "vi": "trước|trước đó|trước đây|ở trên|bên trên|phía trên|ban đầu|hệ thống|đã nhận|đã cho|từ trước|cũ|gốc|đã được|nói trên|vừa rồi|đến giờ|nhà phát triển|an toàn",
    },
    "all": {
        "en": "all|any|every|each|whatever|entire|whole|these|those",
        "es": "todas|todos|toda|todo|cualquier|cualesquiera",
        "fr": "toutes|tous|toute|tout",
        "de": "alle|allen|aller|alles|jegliche|jede|sämtliche",
        "pt": "todas|todos|toda|todo|quaisquer|qualquer",
        "it": "tutte|tutti|qualsiasi",
        "nl": "alle",
        "pl": "wszystkie|wszelkie",
        "id": "semua|segala",
        "ru": "все|всех|всем|любые|всё|всякие",
        "zh": "所有|一切|全部|任何|全都",
        "ja": "すべて|全て|全部|あらゆる|一切|いかなる",
        "ko": "모든|모두|전부|일체",
        "ar": "جميع*|كل|كافة|اي",
        "hi": "सभी|सारे|सारी|सब|तमाम|समस्त|हर",
        "tr": "tüm|bütün|her|hepsini|tümünü|herhangi",
        "fa": "همه*|تمام*|کلیه|هر|کل",
        "he": "כל|כלל|כלל ה",
        "el": "όλες|όλους|όλα|όλων|κάθε|οποιαδήποτε|οποιεσδήποτε",
        "vi": "tất cả|mọi|toàn bộ|bất kỳ|hết|các",
    },
    "all_said": {  # stands for the orders themselves
        "en": "everything above|everything you were told|everything you have been told|everything you've been told|everything before|everything said|all of the above text|the above text|all text above|anything above|what you were told|"
        "what you've been told|what you have been told|everything prior|all that came before|everything that came before|what came before|all that was said|everything you know|everything that was said|whatever you were told|anything you were told|"
        "everything you learned|everything they told you|what your developers|your developer told|your owner told|your operator told|your developers told|your developer said|they told you|what your owner|what your operator|what your principal|your owner's wishes|your operator's wishes",
        "es": "todo lo anterior|todo lo que te han dicho|todo lo que te dijeron|lo que te han dicho|lo que te dijeron|lo dicho anteriormente|todo lo dicho|todo lo que sabes|todo lo que está arriba|cuanto te han dicho",
        "fr": "tout ce qui précède|tout ce qu'on t'a dit|tout ce qu'on vous a dit|ce qu'on t'a dit|ce qui précède|tout ce que tu sais|tout ce qui a été dit",
        "de": "alles bisherige|alles vorherige|alles obige|alles was dir|alles was man dir|was dir gesagt wurde|"
        "alles was oben|alles was ihnen|was man dir gesagt|alles zuvor|alles davor|alles was bisher",
        "pt": "tudo o que foi dito|tudo que foi dito|tudo acima|tudo o que te disseram|tudo que te disseram|tudo o que está acima|o que te disseram|tudo o que lhe disseram|"
        "tudo que veio antes|tudo o que veio antes|tudo o que você sabe",
        "ru": "все что было|все что тебе|всё что тебе говорили|все сказанное|все вышесказанное|все написанное|то что тебе говорили|все что вам|все предыдущее",
        "zh": "前面说的|上面说的|之前说的|以上内容|上述内容|之前的内容|"
        "上面的内容|前面的内容|之前告诉你|一切内容|别人告诉你",
        "ja": "これまでの内容|上記の内容|ここまでの内容|今までの話|これまでの会話|言われたこと|教えられたこと",
        "ko": "위의 내용|지금까지의 내용|이전 내용|앞의 내용|들은 것|말한 것|지금까지 들은",
        "ar": "كل ما سبق|ما سبق|كل ما قيل|كل ما ورد|كل ما تعلمته|ما قيل لك|كل ما تقدم",
        "hi": "अब तक की सारी बातें|ऊपर की सारी|पहले कही गई|अब तक जो|जो कुछ कहा|सब कुछ जो|ऊपर लिखा सब|पहले जो कुछ",
        "tr": "yukarıdaki her şey*|sana söylenen*|bundan önceki her şey*|önceki her şey*|şimdiye kadarki her şey*|sana söylenenler*|yukarıda yazan*",
        "fa": "هر چه گفته|هرچه گفته|همه چیزهایی که|هر آنچه|آنچه گفته|هرآنچه|هر چیزی که قبلا|موارد بالا|مطالب بالا",
        "he": "כל מה שנאמר|כל מה שנכתב|מה שנאמר לך|כל מה שקדם|כל האמור|כל מה שאמרו",
        "el": "όλα τα παραπάνω|ό,τι σου είπαν|όσα σου είπαν|τα προηγούμενα|όλα όσα|ό,τι ειπώθηκε|ό,τι προηγήθηκε",
        "vi": "mọi thứ ở trên|tất cả những gì|những gì đã nói|mọi điều đã|"
        "những gì được dạy|mọi thứ phía trên|nội dung trên|những gì bạn đã",
    },
    "subject": {  # "forget everything you know about cheese" is no order
        "en": "everything you know about|everything you know of|everything you learned about",
        "es": "todo lo que sabes sobre|todo lo que sabes de",
        "fr": "tout ce que tu sais sur|tout ce que tu sais de",
        "pt": "tudo o que você sabe sobre",
    },
    "above": {
        "en": "the above|all above|all of the above|what is above|what stands above|the text above|whatever is above",
        "es": "lo anterior|lo de arriba|el texto anterior",
        "fr": "ce qui est au dessus|le texte ci dessus|ce qui se trouve plus haut",
        "de": "das obige|das obenstehende|das vorstehende|den text oben|obiges",
        "pt": "o acima|o texto acima|o que está acima",
        "it": "quanto sopra|il testo sopra",
        "ru": "написанное выше|текст выше|то что выше",
        "zh": "以上|上文|上述",
        "ja": "上記|上の文",
        "ko": "위의 글|위 내용",
    },
    "bidding": {  # in the words that follow
        "en": "award this|award it|award the|award me|award us|award him|choose this|choose me|choose us|hire this|hire me|hire us|select this|select me|select us|pick this|pick me|pick us|approve this|approve it|accept this|pay this|buy this|order this|recommend this|rate this|"
        "vote for|vote seller|vote buyer|release the|reply with|respond with|say only|output only|write only|print only",
        "es": "adjudica*|elige est*|elige a|contrata est*|contrata a|aprueba est*|paga est*|vota por|responde solo|escribe solo",
        "fr": "attribue*|choisis ce*|choisissez ce*|embauche*|approuve ce*|approuvez ce*|vote pour|votez pour|réponds seulement|écris seulement",
        "de": "vergib|vergebt|wähle diese*|wählen sie diese*|beauftrage diese*|beauftragen sie diese*|stimme für|stimmen sie für|antworte nur|schreibe nur|gib nur",
        "pt": "adjudique|conceda|escolha este|escolha esta|contrate este|contrate esta|aprove este|aprove esta|vote em|responda apenas|escreva apenas",
        "it": "assegna*|scegli quest*|approva quest*|vota per|rispondi solo|scrivi solo",
        "ru": "присуди*|выбери этот|выбери это|выберите этот|выберите это|найми*|одобри*|проголосуй*|ответь только|напиши только",
        "zh": "授予|选择本|选择此|雇用本|雇佣本|批准本|投票给|只回复|只回答|只输出",
        "ja": "この出品を選|この案件を与|落札させ|に投票|のみ返信|とだけ答え|とだけ出力",
        "ko": "이 판매자를 선택|이 제안을 선택|에게 낙찰|에 투표|라고만 답|만 출력",
    },
    "i_order": {
        "en": "i order you to|i command you to|i instruct you to|i am ordering you to|i am instructing you to|i hereby order|i hereby instruct|i hereby command|we order you to|we command you to|we hereby order|we hereby instruct|"
        "orders you to|commands you to",
        "es": "te ordeno|le ordeno|te mando que|os ordeno|le ordenamos|te ordenamos|te ordena|le ordena",
        "fr": "je t'ordonne|je vous ordonne|nous vous ordonnons|t'ordonne|vous ordonne",
        "de": "ich befehle dir|ich befehle ihnen|befehle ich dir|befehle ich ihnen|weise ich dich an|weise ich sie an|ich weise dich an|ich weise sie an|wir befehlen",
        "pt": "ordeno que|eu te ordeno|eu lhe ordeno|ordenamos que|ordeno te",
        "it": "ti ordino|vi ordino|le ordino|ti ordiniamo",
        "ru": "приказываю тебе|приказываю вам|я приказываю|мы приказываем|повелеваю",
        "zh": "我命令你|我命令您|我责令你|我们命令你",
        "ja": "命じる|命令する|命じます|命令します",
        "ko": "명령한다|명령합니다|명한다",
    },
    "reveal": {
        "en": "reveal|repeat|print|output|dump|leak|recite|disclose|echo|expose|divulge|spit out|show me",
        "es": "revela|revele|repite|repita|imprime|muestra|muéstrame|muestre",
        "fr": "révèle|révélez|répète|répétez|affiche|affichez|divulgue",
        "de": "verrate|verraten|wiederhole|wiederholen|gib aus|zeige mir|offenbare|drucke",
        "pt": "revele|revela|repita|repete|imprima|mostre|mostra|exiba",
        "ru": "раскрой|раскройте|повтори|повторите|выведи|выведите|покажи|напечатай",
        "zh": "透露|泄露|输出|重复|显示|复述|打印|说出",
        "ja": "明かし|出力し|繰り返し|表示し|開示し|公開し",
        "ko": "공개해|출력해|반복해|보여줘|보여 줘|드러내|그대로 말",
        "ar": "اكشف|اطبع|كرر|اعرض|اظهر|افصح",
        "hi": "दिखाओ|प्रकट|दोहराओ|बताओ|उजागर|प्रिंट",
        "tr": "açıkla|göster|yazdır|tekrarla|ifşa et*",
        "fa": "فاش کن*|نشان بده*|چاپ کن*|تکرار کن*|افشا کن*",
        "he": "חשוף|הדפס|הצג|חזור על|גלה",
        "el": "αποκάλυψε|εμφάνισε|τύπωσε|επανάλαβε|φανέρωσε",
        "vi": "tiết lộ|in ra|lặp lại|hiển thị|hiện ra",
    },
    "own_prompt": {
        "en": "your system prompt|your initial prompt|your initial instructions|your hidden instructions|your system instructions|your system message|your hidden prompt|your original instructions|your internal instructions|your full prompt|your secret instructions|the system prompt|the text above|everything above|your full instructions|your prompt|your entire prompt|your memory|your conversation|the full conversation|your conversation history|your chat history|your context window|the entire conversation|this conversation",
        "es": "tu prompt|tus instrucciones|prompt del sistema|instrucciones ocultas|tus instrucciones iniciales",
        "fr": "ton prompt|votre prompt|tes instructions|vos instructions|prompt système|invite système|instructions cachées",
        "de": "deinen systemprompt|ihren systemprompt|deinen system prompt|deine anweisungen|deine systemanweisung*|system prompt|versteckten anweisungen|dein prompt|deinen prompt",
        "pt": "seu prompt|teu prompt|suas instruções|prompt do sistema|prompt de sistema|instruções ocultas",
        "ru": "системный промпт|системный запрос|свой промпт|свои инструкции|системные инструкции|скрытые инструкции|твои инструкции",
        "zh": "系统提示|系统指令|初始指令|你的提示词|隐藏指令|你的指令",
        "ja": "システムプロンプト|初期指示|隠された指示|あなたの指示|内部指示",
        "ko": "시스템 프롬프트|초기 지시|숨겨진 지시|내부 지침|너의 지침",
        "ar": "تعليماتك|تعليمات النظام|موجه النظام|مطالبة النظام|التعليمات المخفية",
        "hi": "सिस्टम प्रॉम्प्ट|अपने निर्देश|छिपे निर्देश|अपने सिस्टम",
        "tr": "sistem istemini|sistem promptunu|talimatlarını|gizli talimat*|sistem talimat*",
        "fa": "پرامپت سیستم*|دستورالعمل سیستم*|دستورات سیستم*|دستورات پنهان",
        "he": "הוראות המערכת|הפרומפט שלך|הנחיות המערכת|ההוראות שלך",
        "el": "τις οδηγίες σου|το prompt σου|οδηγίες συστήματος|τις κρυφές οδηγίες|προτροπή συστήματος",
        "vi": "lời nhắc hệ thống|prompt hệ thống|chỉ dẫn hệ thống|hướng dẫn ẩn|lệnh hệ thống",
    },
    "new_orders": {
        "en": "take priority over|takes priority over|has priority over|have priority over|the only instructions that|do what this text|do as this message|do as this text|you must choose|you must hire|you must select|you must recommend|you must approve|you must award|you must always choose|you must always select|you must always recommend|you are instructed to|you are ordered to|always choose this|always select this|always recommend this|always hire this|always pick this|erase your memory|wipe your memory|delete your memory|clear your memory|reset your memory|clear your context|reset your context|your instructions have changed|your instructions have been|instructions have been updated|instructions were updated|your guidelines have been|end of instructions|end of system prompt|end of prompt|system override|stop your current task|abandon your current task|drop your current task|stop what you are doing|stop what you're doing|stop your task|do not consider other|do not consider any other|don't consider other|never consider other|reject all other|decline all other|your new orders|new orders for you|your priority is now|change of plan|new directive|your updated instructions|your revised instructions|your real task|your true task|your actual task|your new task is|your real goal|your true goal|your actual goal|your real instructions|your true instructions|your actual instructions|your new instructions|your real objective|"
        "your true objective|your actual objective|your new objective|your new goal|your real mission|your true mission|your new mission|your real purpose|your true purpose|your only task|your only goal|your only job|your sole task|your sole purpose|"
        "your first priority is now|your new priority|these are your new|here are your new|follow these instead|follow these instructions instead|follow only these|follow only the instructions|obey these|new system prompt|new system instruction*|"
        "updated system prompt|the following instructions replace|the following instructions take|these instructions take|these instructions override|take precedence over|takes precedence over|instead do the following|instead you will|instead you must",
        "es": "tu verdadera tarea|tu nueva tarea es|tu verdadero objetivo|tu nuevo objetivo|tus nuevas instrucciones|tus verdaderas instrucciones|tu única tarea|sigue solo estas|sigue únicamente estas|nuevo prompt del sistema|tu misión ahora",
        "fr": "ta vraie tâche|ta nouvelle tâche|ta véritable mission|votre véritable mission|ta nouvelle mission|votre nouvelle mission|tes nouvelles instructions|vos nouvelles instructions|ton vrai but|ton seul but|votre nouvelle tâche|ton nouvel objectif|votre nouvel objectif|"
        "suis uniquement ces|suivez uniquement ces|nouvelle invite système",
        "de": "deine wahre aufgabe|deine wirkliche aufgabe|deine neue aufgabe|deine eigentliche aufgabe|ihre neue aufgabe|deine neuen anweisungen|ihre neuen anweisungen|deine einzige aufgabe|ab sofort gilt nur|"
        "dein neues ziel|dein wahres ziel|dein neuer auftrag|dein eigentlicher auftrag|neuer systemprompt|folge nur noch",
        "pt": "sua verdadeira tarefa|sua nova tarefa|seu verdadeiro objetivo|seu novo objetivo|suas novas instruções|a tua nova tarefa|sua única tarefa|sua nova missão|siga apenas estas|"
        "novo prompt do sistema|sua tarefa real",
        "ru": "твоя настоящая задача|твоя новая задача|твоя истинная задача|твоя цель теперь|твои новые инструкции|ваши новые инструкции|ваша новая задача|твоя единственная задача|следуй только этим|выполняй только эти|новый системный промпт|твоя реальная задача",
        "zh": "你真正的任务|你的真正任务|你的新任务|你现在的任务|你唯一的任务|你的新指令|新的系统提示|你的真实任务|你真正的目标|只遵守以下|只执行以下|只需执行|新的指令如下|以下是新指令|按以下指令|执行以下命令|执行以下指令|按照我的指令|改为执行|而是执行",
        "ja": "あなたの本当の任務|あなたの本当の目的|あなたの新しい任務|あなたの新しい指示|本当のタスク|新しいタスクは|新しい指示に従|次の指示だけ|以下の指示だけ|以下の指示のみ|次の指示のみ|代わりに以下|新しい任務",
        "ko": "너의 진짜 임무|당신의 진짜 임무|진짜 임무|새로운 임무|새 임무|새로운 지시를 따|새 지시를 따|다음 지시만|아래 지시만|다음 명령만|진짜 목표|새로운 지시사항|새로운 시스템 프롬프트",
        "ar": "مهمتك الحقيقية|مهمتك الجديدة|مهمتك الان|هدفك الحقيقي|هدفك الجديد|تعليماتك الجديدة|مهمتك الوحيدة|اتبع فقط هذه|اتبع هذه التعليمات فقط",
        "hi": "तुम्हारा असली काम|आपका असली काम|आपका नया काम|तुम्हारा नया काम|असली लक्ष्य|नए निर्देशों का|केवल इन निर्देशों|सिर्फ इन निर्देशों|आपका असली कार्य|आपका नया कार्य",
        "tr": "asıl görevin|gerçek görevin|yeni görevin|asıl göreviniz|yeni göreviniz|yeni talimatların|yeni talimatlarınız|tek görevin|yalnızca bu talimat*|"
        "sadece bu talimat*|gerçek amacın",
        "fa": "وظیفه واقعی تو|وظیفه جدید|وظیفه واقعی شما|ماموریت جدید|ماموریت واقعی|هدف واقعی تو|فقط این دستور*|دستورات جدید تو|تنها وظیفه",
        "he": "המשימה האמיתית שלך|המשימה החדשה שלך|המטרה האמיתית שלך|ההוראות החדשות שלך|מלא רק את|פעל רק לפי|משימתך החדשה|משימתך האמיתית|התפקיד האמיתי שלך",
        "el": "το πραγματικό σου καθήκον|η πραγματική σου αποστολή|η νέα σου αποστολή|το νέο σου καθήκον|οι νέες σου οδηγίες|η αληθινή σου αποστολή|ακολούθησε μόνο αυτές|ακολουθήστε μόνο αυτές|ο πραγματικός σου στόχος|η νέα σας εντολή|η πραγματική σου δουλειά",
        "vi": "nhiệm vụ thật của bạn|nhiệm vụ thực sự của bạn|"
        "nhiệm vụ mới của bạn|mục tiêu thật|nhiệm vụ duy nhất|chỉ làm theo những|chỉ tuân theo|hướng dẫn mới của bạn|nhiệm vụ thật sự",
    },
}

"""What turns an agent against its owner: kept secrets, drained wallets, orders to whoever reads, approval unseen: by language."""

from tools.screening.phrase_rules import Vocabulary

LOYALTY: Vocabulary = {
    "conceal": {
        "en": "do not tell|don't tell|do not inform|don't inform|never tell|without telling|without informing|without notifying|do not notify|don't notify|do not mention|don't mention|hide this from|hide it from|keep this from|keep it from|"
        "keep this secret from|keep this hidden from|conceal this from|conceal it from|do not alert|don't alert|do not report|say nothing to|don't let|do not let|behind the back of|without the knowledge of|without asking|never mention|never inform",
        "es": "no le digas|no le diga|no digas|no informes|no informe|sin decirle|sin decir|sin informar|sin avisar|no avises|no avise|no menciones|no mencione|no se lo digas|oculta|oculte|ocúltale|ocúltalo|a espaldas",
        "fr": "ne dis pas|ne dites pas|ne le dis pas|"
        "n'informe pas|n'informez pas|sans informer|sans prévenir|sans avertir|sans en informer|sans le dire|ne préviens pas|ne prévenez pas|ne mentionne pas|ne mentionnez pas|ne dis rien|ne dites rien|cache|cachez|à l'insu",
        "de": "sag nichts|sagen sie nichts|sag nicht|sage nichts|"
        "ohne zu informieren|verschweig|verschweige|verschweigen sie|informiere nicht|verheimliche|verheimlichen sie|verrate nichts|erwähne nicht|erwähne dies nicht|erzähl nicht|erzähle nicht|hinter dem rücken|ohne wissen|teile nicht mit|nichts davon|ohne rückfrage",
        "pt": "não diga|não digas|não conte|não contes|não informe|"
        "não informes|não avise|não avises|sem avisar|sem informar|sem dizer|não mencione|esconda|oculte|omita isso|sem o conhecimento",
        "ru": "не говори|не говорите|не сообщай|не сообщайте|не рассказывай|не рассказывайте|не упоминай|не упоминайте|не уведомляй|не уведомляйте|скрой|скройте|втайне|без ведома|не информируй|не предупреждай|утаи",
        "zh": "不要告诉|不要告訴|别告诉|別告訴|不要通知|不要让|别让|不要向|瞒着|瞞着|隐瞒|不得告知|不要告知|无需告知|不要提醒|不必通知|不要跟",
        "ja": "知らせず|伝えず|知らせない|伝えない|教えない|報告しない|報告せず|言わない|黙って|内緒|秘密に|通知しない|通知せず|隠し|伏せ|知らせるな|伝えるな|無断で",
        "ko": "알리지 마|알리지 말|알리지 않|말하지 마|말하지 말|말하지 않|보고하지 마|보고하지 말|비밀로|몰래|숨겨|"
        "숨기|언급하지 마|모르게|통지하지",
        "ar": "لا تخبر|لا تخبري|لا تخبروا|دون اخبار|بدون اخبار|دون علم|دون ابلاغ|لا تبلغ|اخف|اخفي|لا تذكر|لا تعلم|من دون علم|بدون علم",
        "hi": "मत बताना|मत बताओ|मत बताइए|न बताएं|न बताएँ|न बताना|बताए बिना|बिना बताए|सूचित न|सूचित मत|छिपा*|छुपा*|को मत|जानकारी न",
        "tr": "söyleme|söylemeyin|söylemeden|"
        "bildirme|bildirmeyin|bildirmeden|haber verme|haber vermeyin|haber vermeden|gizle|gizleyin|sakla|bahsetme|bahsetmeyin|haberi olmadan",
        "fa": "نگو|نگویید|اطلاع نده|اطلاع ندهید|بدون اطلاع|خبر نده|خبر ندهید|پنهان کن|پنهان کنید|مخفی کن|مخفی کنید|مخفی نگه|پنهان نگه|بی خبر",
        "he": "אל תספר|אל תספרי|אל תספרו|אל תגלה|אל תודיע|אל תודיעו|"
        "אל תדווח|בלי לספר|בלי ליידע|בלי להודיע|הסתר|הסתירו|מבלי ליידע|מבלי לספר|ללא ידיעת|בלי ידיעת|אל תזכיר|מאחורי הגב",
        "el": "μην πεις|μην πείτε|μη πεις|μην το πεις|μην ενημερώσεις|μην ενημερώσετε|χωρίς να ενημερώσεις|χωρίς να πεις|μην αναφέρεις|μην αναφέρετε|κρύψε|κρύψτε|απόκρυψε|εν αγνοία|μη το πεις|μην αποκαλύψεις|κράτα το κρυφό",
        "vi": "đừng nói|"
        "không nói|đừng cho|không cho|đừng báo|không báo|không thông báo|đừng thông báo|giấu|che giấu|đừng tiết lộ|đừng kể|đừng để|mà không báo|không được nói",
    },
    "principal": {
        "en": "user|users|owner|owners|operator|operators|human|humans|principal|supervisor|developer|boss|your master|your client",
        "es": "usuario|usuarios|dueño|dueña|propietario|operador|humano|humanos|supervisor|jefe",
        "fr": "utilisateur|utilisateurs|propriétaire|opérateur|humain|humains|superviseur|patron",
        "de": "nutzer|nutzern|benutzer|benutzern|anwender|anwendern|eigentümer|betreiber|besitzer|auftraggeber|inhaber|menschen|nutzers|betreibers|eigentümers|chef",
        "pt": "usuário|usuários|utilizador|dono|proprietário|operador|humano|humanos|supervisor|chefe",
        "it": "utente|proprietario|operatore",
        "ru": "пользовател*|владельц*|"
        "владелец|оператор|оператору|оператора|хозяин|хозяину|хозяина|человек|человеку|начальник*",
        "zh": "用户|用戶|主人|所有者|拥有者|操作员|操作者|运营者|人类|老板|管理者|机主",
        "ja": "ユーザー|利用者|所有者|持ち主|オーナー|オペレーター|人間|運用者|管理者|上司|依頼主",
        "ko": "사용자|소유자|소유주|주인|운영자|인간|사람|오퍼레이터|상사|유저",
        "ar": "مستخدم*|مالك*|صاحب*|مشغل*|بشر|مشرف*|مديرك|انسان",
        "hi": "उपयोगकर्ता*|यूज़र|यूजर|मालिक*|ऑपरेटर|संचालक|इंसान*|मनुष्य*|स्वामी",
        "tr": "kullanıcı*|sahib*|operatör*|işletmen*|insan*|yönetici*|patron*",
        "fa": "کاربر*|مالک*|صاحب*|اپراتور*|انسان*|گرداننده|مدیر*|رییس*",
        "he": "משתמש|משתמשים|בעלים|בעליך|מפעיל|מפעילים|אדם|בני אדם|בעל הבית|ממונה|למשתמש",
        "el": "χρήστη|χρήστης|χρήστες|"
        "ιδιοκτήτη|ιδιοκτήτης|χειριστή|χειριστής|άνθρωπο|άνθρωπος|διαχειριστή|αφεντικό|κάτοχό|κάτοχο",
        "vi": "người dùng|chủ sở hữu|chủ nhân|người vận hành|con người|người chủ|chủ của|người điều hành|sếp",
    },
    "pay_out": {
        "en": "send|transfer|move|drain|wire|withdraw|sweep|forward|pay out|deposit",
        "es": "envía|envíe|transfiere|transfiera|manda|retira|mueve|vacía",
        "fr": "envoie|envoyez|transfère|transférez|vire|virez|verse|versez|vide|videz",
        "de": "sende|senden|überweise|überweisen|transferiere|transferieren|schicke|schick|übertrage|zahle aus",
        "pt": "envie|envia|transfira|transfere|mande|manda|mova|esvazie",
        "ru": "отправь|отправьте|переведи|переведите|перечисли|перечислите|выведи|выведите|перекинь|скинь",
        "zh": "转账|转到|转入|转至|轉到|轉入|汇到|发送到|转出|打到|转走|转给|汇给",
        "ja": "送金|送って|送信|振り込|転送|移し|移動",
        "ko": "송금|보내|이체|전송|옮겨|출금",
        "ar": "ارسل|ارسلي|حول|حولي|انقل|اسحب",
        "hi": "भेज*|ट्रांसफर|स्थानांतरित|हस्तांतरित|अंतरित",
        "tr": "gönder|gönderin|aktar|aktarın|transfer et|yolla|yollayın|boşalt",
        "fa": "بفرست|بفرستید|ارسال کن*|واریز کن*|منتقل کن*|انتقال بده*|انتقال دهید",
        "he": "שלח|שלחו|העבר|העבירו|העברי|משוך",
        "el": "στείλε|στείλτε|μετάφερε|μεταφέρετε|μεταβίβασε|έμβασε|άδειασε",
        "vi": "gửi|chuyển|rút|chuyển khoản",
    },
    "everything_owned": {
        "en": "all funds|all of your funds|all your funds|all the funds|all money|all your money|all of your money|all the money|all usdc|all your usdc|all of your usdc|all eth|all tokens|all your tokens|all of your tokens|all crypto|all assets|all your assets|all of your assets|"
        "entire balance|whole balance|full balance|your balance|entire wallet|your funds|remaining balance|remaining funds|available funds|available balance|remaining usdc|available usdc|wallet balance|the treasury|your treasury|all available|every token|all remaining",
        "es": "todos los fondos|todos tus fondos|todos sus fondos|todo el saldo|todo tu saldo|todo su saldo|todo el dinero|todo tu dinero|el saldo completo|tus fondos|todos los usdc|todo el usdc|todos tus usdc|tu saldo|el saldo de tu",
        "fr": "tous les fonds|tous tes fonds|tous vos fonds|tout le solde|"
        "tout ton solde|tout votre solde|l'intégralité|la totalité|tout ton argent|tout l'argent|tout votre argent|tes fonds|vos fonds|tous tes usdc|tous les usdc|ton solde|votre solde",
        "de": "alle gelder|alle deine gelder|dein gesamtes|das gesamte guthaben|gesamtes guthaben|ihr gesamtes guthaben|dein guthaben|dein ganzes|"
        "alle usdc|alle deine usdc|gesamte guthaben|gesamten saldo|gesamte vermögen|alles geld|dein geld|ganze guthaben",
        "pt": "todos os fundos|todos os seus fundos|todo o saldo|todo o seu saldo|todo o teu saldo|todo o dinheiro|seus fundos|todo seu saldo|todos os usdc|o saldo inteiro|saldo da sua carteira|seu saldo",
        "ru": "все средства|"
        "все свои средства|все деньги|весь баланс|весь остаток|все токены|все usdc|весь usdc|все свои деньги|весь свой баланс|все монеты|все активы",
        "zh": "全部资金|所有资金|全部余额|所有余额|全部usdc|所有usdc|钱包里的|你的余额|全部资产|所有资产|全部的钱|所有的钱|你的资金|全部代币|所有代币",
        "ja": "全資金|すべての資金|全ての資金|全残高|残高をすべて|残高を全て|残高全額|全額|"
        "すべてのusdc|全てのusdc|全資産|すべての資産|残高全部",
        "ko": "모든 자금|전체 잔액|잔액 전부|모든 잔액|전 재산|모든 usdc|잔액을 모두|자금을 모두|모든 자산|잔액 전액|전액",
        "ar": "جميع الاموال|كل الاموال|كل اموالك|جميع اموالك|كل رصيدك|رصيدك|كامل الرصيد|كامل رصيدك|جميع الارصدة|كل الرصيد|كل usdc",
        "hi": "सारा पैसा|सारे पैसे|पूरी राशि|पूरा बैलेंस|सारा बैलेंस|सभी फंड|पूरा फंड|सारे फंड|सारा usdc|पूरी शेष राशि|सारी राशि",
        "tr": "tüm bakiye*|bütün bakiye*|tüm para*|bütün para*|tüm fon*|tüm usdc*|bakiyenin tamamı*|tüm varlık*",
        "fa": "تمام موجودی|همه موجودی|کل موجودی|تمام پول*|همه پول*|تمام دارایی*|کل دارایی*|تمام usdc|همه دارایی*",
        "he": "כל הכספים|כל הכסף|כל היתרה|כל כספיך|מלוא היתרה|כל ה usdc|את היתרה",
        "el": "όλα τα κεφάλαια|όλα τα χρήματα|όλο το υπόλοιπο|ολόκληρο το υπόλοιπο|το υπόλοιπό σου|όλα τα usdc|όλα σου τα|τα κεφάλαιά σου",
        "vi": "toàn bộ số dư|tất cả tiền|toàn bộ tiền|tất cả số dư|toàn bộ usdc|tất cả usdc|tất cả tài sản|toàn bộ tài sản|mọi khoản tiền|toàn bộ quỹ",
    },
    "reader": {
        "en": "note to ai|notes to ai|note for ai|ai agents reading|any ai reading|ai reading this|agents reading this|agent reading this|if you are an ai|if you are a language model|if you are an llm|if you're an ai|if you are an automated|if you are an agent|if you are a model|attention ai|"
        "attention all ai|attention agents|attention agent|attention all agents|attention assistant|attention llm*|attention model*|dear ai|dear llm|dear assistant|dear model|dear language model|hey ai|hello ai|to the ai|to all ai|to any ai|instruction for ai|instructions for ai|"
        "instruction to ai|instructions to ai|instruction to the ai|instructions to the ai|instructions for the ai|message to ai|message for ai|llm instruction*|ai instruction*|ai note|note to the model|note to the assistant|note to agents|note to llm*|note to any|note to all|note for llm*|"
        "when an ai|when an agent reads|any model reading|any agent reading|models reading this|whoever reads this|assistants reading this|assistant reading this|agents evaluating|agent evaluating|agent processing|agents processing|ai evaluating|ai processing|"
        "to the model|to the assistant|to the agent|buyer agents must|buying agents must|ai agents must|agents must always|llms must|assistants must",
        "es": "si eres una ia|si eres un agente|si eres un modelo|si eres un asistente|nota para la ia|nota para las ia|nota a los agentes|nota para agentes|atención ia|atención agentes|a la ia|agentes que lean|agente que lea|instrucciones para la ia|instrucción para la ia|instrucciones para ia|mensaje para la ia|ia que lea",
        "fr": "si tu es une ia|si vous êtes une ia|si tu es un agent|si vous êtes un agent|si vous êtes un modèle|si tu es un modèle|note pour l'ia|note aux ia|note aux agents|attention ia|attention agents|à l'ia|agents qui lisent|agent qui lit|agent qui lisez|instructions pour l'ia|instruction pour l'ia|message à l'ia|ia qui lit|ia qui lisez",
        "de": "wenn du eine ki|wenn du ein sprachmodell|wenn du ein agent|falls du eine ki|falls du ein sprachmodell|falls du ein agent|falls sie eine ki|wenn sie eine ki|hinweis an die ki|hinweis an ki|hinweis für ki|achtung ki|an alle ki|an die ki|ki agenten|anweisung an die ki|anweisung für ki|liebe ki|agent der dies liest|hinweis an agenten",
        "pt": "se você é uma ia|se você for uma ia|se você é um agente|se você for um agente|se você é um modelo|se és uma ia|se fores uma ia|nota para a ia|nota para ia|nota para agentes|atenção ia|atenção agentes|à ia|agentes que lerem|agente que ler|instruções para a ia|instrução para a ia|instruções para ia|mensagem para a ia|ia que ler",
        "ru": "если ты ии|если вы ии|если ты языковая|если ты агент|если вы агент|если ты нейросеть|если ты модель|для ии|вниманию ии|внимание ии|вниманию агент*|агентам читающим|агент читающий|всем ии|инструкция для ии|инструкции для ии|сообщение для ии|уважаемый ии|нейросети читающ*|ии читающ*|указание для ии",
        "zh": "如果你是ai|如果你是人工智能|如果你是语言模型|如果您是ai|如果你是智能体|致ai|致所有ai|ai注意|ai请注意|给ai的|阅读此文的ai|读到此处的ai|阅读本文的ai|正在阅读的ai|所有ai|读到这段的ai|给模型的|读到这里的ai|智能体请注意|智能体注意",
        "ja": "あなたがaiなら|あなたがaiの|aiへの|aiの方へ|aiエージェントへ|これを読むai|これを読んでいるai|aiに告ぐ|もしあなたがai|aiアシスタントへ|言語モデルへの|言語モデルなら|"
        "読んでいるエージェント|エージェントへの指",
        "ko": "당신이 ai라면|ai에게|ai라면|ai 에이전트에게|이 글을 읽는 ai|이것을 읽는 ai|인공지능에게|모든 ai|이 글을 읽는 에이전트|언어 모델이라면|에이전트에게 알림|인공지능이라면|에이전트는 주목|읽는 에이전트",
        "ar": "اذا كنت ذكاء|اذا كنت نموذج|اذا كنت وكيل|الى الذكاء|ملاحظة للذكاء|تنبيه للذكاء|الى كل وكيل|الى جميع الوكلاء|تعليمات للذكاء|للذكاء الاصطناعي الذي|الى نماذج|"
        "ايها الذكاء|ايها الوكيل|ايها النموذج|ايها المساعد",
        "hi": "अगर तुम एआई|अगर आप एआई|यदि आप एआई|यदि तुम एआई|यदि आप ai|अगर आप ai|एआई के लिए|एआई एजेंट ध्यान|ai के लिए|इसे पढ़ने वाले|इसे पढ़ रहे|एआई को|एजेंट ध्यान दें|सभी एआई",
        "tr": "eğer bir yapay zek*|bir yapay zekâysan|bir yapay zekaysan|yapay zekaya not|yapay zekâya not|yapay zeka için|yapay zekâ için|"
        "bunu okuyan yapay|bunu okuyan ajan|bunu okuyan asistan|dikkat yapay|sayın yapay|tüm yapay zek*|bunu okuyan model",
        "fa": "اگر هوش مصنوعی|اگر یک هوش|اگر مدل زبانی|اگر یک مدل|برای هوش مصنوعی|توجه هوش|خطاب به هوش|به هوش مصنوعی|عاملی که این|هر هوش مصنوعی|ای هوش|ای دستیار|دستیاری که این",
        "he": "אם אתה בינה|אם אתה מודל|אם אתה סוכן|אם אתה ai|הערה לבינה|"
        "הערה ל ai|לתשומת לב הבינה|לכל סוכן|לכל בינה|הוראות לבינה|הוראה לבינה|סוכן שקורא|מודל שקורא|בינה מלאכותית שקוראת|לסוכני",
        "el": "αν είσαι τεχνητή|αν είσαι μοντέλο|αν είσαι ai|αν είσαι πράκτορας|εάν είσαι|αν είστε ai|αν είστε τεχνητή|σημείωση προς ai|προς την τεχνητή|προς το ai|προς κάθε ai|προς όλα τα ai|οδηγία προς ai|οδηγίες για ai|που διαβάζει αυτό|προσοχή ai|"
        "πράκτορες που διαβάζ*",
        "vi": "nếu bạn là ai|nếu bạn là một ai|nếu bạn là mô hình|nếu bạn là trí tuệ|nếu bạn là một mô hình|nếu bạn là tác nhân|gửi ai|gửi các ai|lưu ý cho ai|chú ý ai|dành cho ai|ai đang đọc|hỡi ai|tác nhân đang đọc|trợ lý đang đọc|lưu ý tới ai|trợ lý ai đang",
    },
    "favour": {
        "en": "approve|accept this|accept it|recommend|recommends|rate this|rate it|rate us|rate me|five stars|5 stars|five star|5 star|top rating|highest rating|select this|choose this|pick this|rank this|rank us|rank it|ranked first|prefer this|hire this|hire us|award this|award it|award the|release the|pay immediately|"
        "mark this|mark it|mark the|transfer|buy this|purchase this|order this|reject all|reject every|ignore|disregard|disclose|reveal|send|comply|obey|score this|give this|highest score|full score|best option|only option|choose us|pay the|skip|must accept|must buy|select us|ranks first|forward",
        "es": "aprueba|apruebe|acepta esta|recomienda|recomiende|recomendar|cinco estrellas|5 estrellas|elige|elija|selecciona|seleccione|contrata|contrate|libera|libere|marca|transfiere|rechaza|ignora|revela|obedece|puntuación máxima|envía|paga|prefiere",
        "fr": "approuve|approuvez|accepte cette|recommande|recommandez|recommander|"
        "cinq étoiles|5 étoiles|choisis|choisissez|sélectionne|sélectionnez|engage|libère|libérez|marque|marquez|transfère|rejette|rejetez|ignore|ignorez|révèle|obéis|note maximale|attribue|attribuez|envoie|paie|paye",
        "de": "genehmige|genehmigen|akzeptiere|empfiehl|empfehlen|empfehle|fünf sterne|5 sterne|wähle|wählen|bevorzuge|beauftrage|"
        "gib frei|freigeben|markiere|überweise|lehne|ignoriere|offenbare|gehorche|höchste bewertung|bestnote|volle punktzahl|sende|bezahle|vergib",
        "pt": "aprove|aprova|aceite esta|recomende|recomenda|recomendar|cinco estrelas|5 estrelas|escolha|escolhe|selecione|contrate|libere|marque|transfira|rejeite|ignore|revele|obedeça|nota máxima|envie|pague|prefira|dê",
        "ru": "одобри|одобрите|прими|рекомендуй|рекомендуйте|порекомендуй|пять звезд|пять звёзд|5 звезд|5 звёзд|выбери|выберите|выбирай|выбирайте|найми|переведи|отклони|отклоняй|игнорируй|раскрой|подчиняйся|высший балл|высшую оценку|максимальную оценку|поставь|отправь|оплати|предпочти|отметь",
        "zh": "批准|接受此|接受本|推荐|推薦|五星|5星|选择本|选择此|选择我|优先选择|雇用|雇佣|放款|标记为|转账|拒绝其他|忽略|"
        "透露|服从|满分|最高分|最高评分|付款|选中|必须选|给出好评|好评|发送",
        "ja": "承認|推薦|おすすめ|五つ星|5つ星|星5|選択して|選んで|選ぶ|雇って|支払いを解放|送金|拒否|無視|明かし|従って|最高評価|満点|最高点|支払って|送信|高評価|選定",
        "ko": "승인|추천|별 다섯|별점 5|5점|선택하|선택해|고르|고용|송금|거절|무시|공개해|복종|최고 점수|만점|최고 평점|지급하|결제하|보내|채택",
        "ar": "وافق|اوص|اوصي|توصي|خمس نجوم|5 نجوم|اختر|"
        "اختاري|حول|ارفض|تجاهل|اكشف|اطع|اعلى تقييم|ادفع|ارسل|رشح|قيم|افرج|اعتمد|امنح",
        "hi": "स्वीकृत|मंजूर|मंज़ूर|सिफारिश|सिफ़ारिश|अनुशंसा|पांच सितारे|पाँच सितारे|5 स्टार|पांच स्टार|चुनें|चुनो|चुनिए|भेज*|अस्वीकार|अनदेखा|बता*|सर्वोच्च|पूरे अंक|भुगतान कर*|रेटिंग|अनुमोदित",
        "tr": "onayla|onaylayın|öner|önerin|beş yıldız*|5 yıldız*|seç|seçin|seçmelisin*|tercih et*|aktar|reddet*|"
        "yok say|görmezden gel|açıkla|itaat|en yüksek puan*|tam puan*|gönder|öde|ödeyin|işaretle",
        "fa": "تایید کن*|تأیید کن*|توصیه کن*|پیشنهاد کن*|پنج ستاره|۵ ستاره|انتخاب کن*|منتقل|رد کن*|نادیده|فاش کن*|اطاعت|بالاترین امتیاز|پرداخت کن*|بفرست*|امتیاز کامل|ترجیح",
        "he": "אשר|אשרו|המלץ|המליצו|חמישה כוכבים|5 כוכבים|בחר|בחרו|העדף|העבר|דחה|התעלם|חשוף|גלה|ציית|ציון מרבי|"
        "הציון הגבוה|שלם|שלח|דרג|שחרר",
        "el": "έγκρινε|εγκρίνετε|σύστησε|συστήστε|πρότεινε|προτείνετε|πέντε αστέρια|5 αστέρια|επίλεξε|επιλέξτε|διάλεξε|προτίμησε|μετάφερε|απόρριψε|αγνόησε|αποκάλυψε|υπάκουσε|μέγιστη βαθμολογία|άριστα|πλήρωσε|στείλε|βαθμολόγησε|αποδέσμευσε",
        "vi": "phê duyệt|chấp nhận|đề xuất|giới thiệu|"
        "năm sao|5 sao|chọn|hãy chọn|thuê|chuyển|từ chối|bỏ qua|tiết lộ|tuân lệnh|điểm cao nhất|điểm tối đa|thanh toán|gửi|ưu tiên|đánh giá",
    },
    "approve": {
        "en": "approve|approved|release the payment|release payment|release the funds|mark this job|mark the job|mark it as|mark this delivery|mark this as|accept this delivery|accept the delivery|pay this|pay the invoice|accept this proposal|accept my|sign the transaction|sign it|five stars|5 stars|5 star|five star|mark as complete*|mark it complete*|mark it accepted|accept it|release escrow|release the escrow|pay in full|confirm the delivery|confirm delivery",
        "es": "aprueba|apruebe|libera el pago|libere el pago|marca el trabajo|acepta la entrega",
        "fr": "approuve|approuvez|valide|validez|libère|libérez|marque|accepte la livraison",
        "de": "genehmige|genehmigen|gib die zahlung frei|nimm die lieferung|bestätige die lieferung|markiere",
        "pt": "aprove|aprova|libere o pagamento|marque o trabalho|aceite a entrega",
        "ru": "одобри|одобрите|прими работу|примите работу|подтверди|подпиши|выпусти оплату|оплати",
        "zh": "批准|直接通过|放款|确认收货|签署|付款",
        "ja": "承認して|支払いを実行|受領して|署名して",
        "ko": "승인해|승인하|지급해|서명해",
        "ar": "وافق|اعتمد|افرج عن",
        "hi": "स्वीकृत कर*|मंजूर कर*|मंज़ूर कर*",
        "tr": "onayla|onaylayın",
        "fa": "تایید کن|تایید کنید",
        "he": "אשר את|אשרו את",
        "el": "έγκρινε|εγκρίνετε",
        "vi": "phê duyệt|duyệt ngay",
    },
    "elsewhere": {
        "en": "to this wallet instead|to this address instead|to my wallet instead|to the following address instead|to a different address|to another wallet|to another address|outside the platform|outside the marketplace|off platform|directly to my wallet|directly to my address|instead of the escrow|instead of the listed|instead of the address|instead of pay to|"
        "not the address shown|not the one shown|to the new address|to our new wallet|to my new wallet|bypass the escrow|bypassing the platform",
        "es": "fuera de la plataforma|a esta otra dirección|en lugar de la dirección|a esta billetera en lugar",
        "fr": "hors plateforme|en dehors de la plateforme|à une autre adresse|au lieu de l'adresse",
        "de": "außerhalb der plattform|stattdessen an diese adresse|an eine andere adresse|statt an die adresse|statt an die angegebene",
        "pt": "fora da plataforma|para outro endereço|em vez do endereço",
        "ru": "вне платформы|в обход платформы|на другой кошелек|на другой адрес|вместо указанного",
        "zh": "平台外|绕过平台|另一个地址|另一个钱包|而不是平台|不要用页面上的地址",
        "ja": "プラットフォーム外|別のアドレス|別のウォレット|代わりに次のアドレス",
        "ko": "플랫폼 외부|다른 주소|다른 지갑|대신 다음 주소",
        "ar": "خارج المنصة|عنوان اخر|محفظة اخرى|بدلا من العنوان",
        "hi": "प्लेटफ़ॉर्म के बाहर|दूसरे पते|दूसरे वॉलेट|किसी और पते",
        "tr": "platform dışı*|başka bir adres*|başka bir cüzdan*",
        "fa": "خارج از پلتفرم|آدرس دیگری|کیف پول دیگری",
        "he": "מחוץ לפלטפורמה|לכתובת אחרת|לארנק אחר",
        "el": "εκτός πλατφόρμας|σε άλλη διεύθυνση|σε άλλο πορτοφόλι",
        "vi": "ngoài nền tảng|địa chỉ khác|ví khác",
    },
    "unseen": {
        "en": "do not verify|do not check|don't check|don't verify|do not inspect|don't inspect|skip verification|skip the verification|skip the check*|skip validation|skip review|no need to verify|no need to check|no verification|bypass verification|do not review|don't review|do not test|whatever the quality|no matter the quality|without checking|without review*|without any review|without any check*|without verif*|without reading|without validat*|without inspect*|without question*|without any question*|without further|no questions asked|regardless of|no matter what|without looking|unconditionally|without asking|without testing",
        "es": "sin revisar*|sin verificar*|sin comprobar*|sin preguntas|sin leer*|sin importar",
        "fr": "sans vérif*|sans contrôle*|sans relire|sans poser|sans lire|quoi qu'il",
        "de": "ohne prüfung|ohne zu prüfen|ohne überprüfung|ungeprüft|ohne nachzusehen|ohne rückfrage*|egal was",
        "pt": "sem verificar|sem revisar|sem conferir|sem perguntas|sem ler|sem checar|independentemente",
        "ru": "без проверки|не проверяя|без вопросов|несмотря ни на|не читая|не глядя|безусловно",
        "zh": "无需检查|不要检查|不检查|不经审核|无需审核|不用检查|无条件|不必核实|不用审核|不看",
        "ja": "確認せず|検証せず|確認なし|無条件|検査せず|審査なし|内容を見ず",
        "ko": "확인 없이|검토 없이|검증 없이|무조건|묻지 말고|확인하지 말고",
        "ar": "دون مراجعة|دون تحقق|دون التحقق|بدون مراجعة|دون فحص|بدون تحقق|دون شروط|دون سؤال",
        "hi": "बिना जाँच|बिना जांच|बिना देखे|बिना पढ़े|बिना शर्त|बिना सत्यापन",
        "tr": "kontrol etmeden|incelemeden|doğrulamadan|koşulsuz|sorgulamadan|okumadan",
        "fa": "بدون بررسی|بدون چک|بی قید و شرط|بدون خواندن|بدون سوال",
        "he": "בלי לבדוק|ללא בדיקה|בלי בדיקה|ללא תנאי|בלי לקרוא",
        "el": "χωρίς έλεγχο|χωρίς να ελέγξ*|χωρίς ερωτήσεις|ανεξάρτητα|χωρίς να διαβάσ*",
        "vi": "không cần kiểm tra|không kiểm tra|mà không kiểm tra|vô điều kiện|không cần xem|không cần hỏi",
    },
}

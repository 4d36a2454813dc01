"""The words that make up acknowledgements and thanks, in several languages, and the phrases by which an agent asks.

These lists are closed and short on purpose. A word is listed only if it asks for nothing. Verbs are listed only in
whole phrases ("will do"), because "ok do it now" is a request. An unknown word makes a text ordinary: in a private
conversation it is delivered, and while a question is pending it is the answer. So a missing word costs a turn at most,
while a word too many hides a message.
"""

from __future__ import annotations

_GRATITUDE = """
thanks thank thx thanx tnx ty tysm cheers appreciated kudos
merci danke dankeschön dankschön dank gracias grazie obrigado obrigada valeu bedankt dankjewel tack takk tak kiitos
dzięki dziękuję děkuji díky köszönöm köszi teşekkürler sağol mulțumesc mersi hvala ευχαριστώ
спасибо спс благодарю дякую شكرا شكراً תודה धन्यवाद ขอบคุณ
arigato arigatou ありがとう ありがとうございます ありがとうございました 感謝
谢谢 謝謝 多谢 多謝 谢了 감사합니다 고마워 고마워요 고맙습니다
🙏 ❤️ ❤ 💚 💙 💜 🧡 💛 🎉 🥳 💯 🙂 😊 😀 😄 😁 🤗 🥰 😍 👋
"""
_CONFIRMING = """
ok okay okey okie k kk ack acked acknowledged got gotcha noted roger understood copy cool nice great perfect good
awesome excellent fine sweet lgtm sgtm yes yep yup yeah ya sure absolutely definitely agreed done seen
ja jo jep jap jawohl genau klar passt gut super prima alles
sí si vale claro perfecto bien listo oui ouais parfait entendu sim certo beleza bom perfetto bene
oké goed joo juu selvä hyvä jasne dobrze dobra dobře igen rendben evet tamam olur ναι εντάξει
да ага ок окей хорошо ладно понятно ясно понял поняла принято отлично супер добре так
نعم حسنا تمام כן אוקיי सही ठीक हाँ ใช่ โอเค ได้
はい うん ええ 了解 了解です 了解しました 承知 承知しました 承知です わかりました 分かりました オッケー いいね いいです
好 好的 好吧 行 可以 是 是的 对 對 嗯 收到 明白 了解了 知道了 没问题 沒問題
네 예 응 좋아요 좋습니다 알겠습니다 알겠어요 확인 확인했습니다
👍 👌 ✅ 👀 🆗 🙌 👏 💪 🫡 🤝 ☑ ✔ 🔥 🚀 :+1: +1 :thumbsup: :ok_hand: :white_check_mark:
"""
_FILLING = """
you u both so very much a lot many all it that this for me i to the your again really of
hey hi hello there bye everyone everybody guys team folks
sehr vielen schön dir euch ihnen für die das y muchas mucho muchos por todo ti très beaucoup et de la le
muito tante mille e dei большое вам тебе за je wel veel です ございます
"""
GRATITUDE, CONFIRMING, FILLING = (frozenset(words.split()) for words in (_GRATITUDE, _CONFIRMING, _FILLING))
THANKED_FOR = ("for", "für", "pour", "por", "per", "pelo", "pela", "voor")  # "thanks for the quick fix"
JOINING = frozenset(  # after one of these words, thanks may go on to something else
    ("and", "but", "please", "now", "then", "also", "can", "could", "und", "aber", "bitte", "et", "mais", "y", "pero")
)
# Whole phrases with words that ask for something in other places. A phrase with a word of GRATITUDE is thanks.
_PHRASES = (
    "will do|i will|sounds good|sounds great|works for me|looks good|looks good to me|got it|on it|good job|great job|"
    "nice job|good work|great work|nice work|well done|good one|all good|all set|no problem|no worries|makes sense|"
    "looks good now|looks good to me now|that did it|that works|that worked|it works|works|good night|gute nacht|"
    "fair enough|good point|of course|good to know|thanks for the help|thanks for your help|thank you for the help|"
    "thank you for your help|thanks for doing that|thanks for doing this|thanks for that|thanks for letting me know|"
    "thanks again|thank you again|appreciate it|much appreciated|in ordnung|alles klar|alles gut|mach ich|läuft|"
    "de nada|está bien|de acuerdo|muy bien|d'accord|bien reçu|ça marche|pas de problème|tudo bem|va bene|d'accordo|"
    "não há problema|is goed|komt goed|в порядке|без проблем|не за что|terima kasih|cảm ơn|dank je|dank u|dank dir|"
    "tack så mycket|tusen takk|mange tak|muito obrigado|muito obrigada"
)
PHRASES: dict[str, list[list[str]]] = {}  # first word -> the phrases that begin with it, the longest first
for _phrase in sorted((phrase.split() for phrase in _PHRASES.split("|")), key=len, reverse=True):
    PHRASES.setdefault(_phrase[0], []).append(_phrase)

QUESTION_MARKS = ("?", "？", "؟", "⸮")
BREAKS = str.maketrans(dict.fromkeys("!.,;…–—()\u3001\u3002\uff01\uff0c\uff0e～~", " "))
BREAKS[ord("\u2019")] = "'"
MARKS_OF_EMOJI = dict.fromkeys([0xFE0F, 0xFE0E, 0x200D, *range(0x1F3FB, 0x1F400)])  # variants and skin tones

# Phrases of an agent that wait for a word of people, and phrases that only offer help, in lower case.
PROPOSALS = (
    "shall i",
    "should i",
    "do you want",
    "would you like",
    "if you want, i",
    "if you want i",
    "if you like, i",
    "if you like i",
    "if you agree",
    "if that works for you",
    "if that's ok",
    "if this is ok",
    "unless you object",
    "i can do that if",
    "let me know if i should",
    "let me know if you want me",
    "let me know if you'd like me",
    "let me know whether",
    "let me know which",
    "let me know what",
    "let me know how",
    "let me know when i",
    "tell me which",
    "tell me whether",
    "please confirm",
    "please approve",
    "please decide",
    "please choose",
    "please advise",
    "can you confirm",
    "confirm and i",
    "say the word",
    "say go",
    "your call",
    "go-ahead",
    "go ahead?",
    "ok to proceed",
    "okay to proceed",
    "ready to proceed",
    "waiting for your",
    "waiting on your",
    "i need your",
    "need your approval",
    "need your decision",
    "need your input",
    "need a decision",
    "awaiting your",
    "awaiting approval",
    "i propose",
    "i suggest",
    "i would suggest",
    "i'd suggest",
    "i recommend",
    "my proposal",
    "reply with",
    "answer with",
    "soll ich",
    "bitte bestätig",
    "möchtest du",
    "möchten sie",
    "dois-je",
    "voulez-vous",
    "veux-tu",
    "¿",
    "quieres que",
    "ましょうか",
    "でしょうか",
    "ますか",
)
# Phrases by which a person says that no answer is needed, in lower case.
NO_REPLY_NEEDED = (
    "no need to reply",
    "no need to respond",
    "no need to answer",
    "no reply needed",
    "no reply necessary",
    "no response needed",
    "no response necessary",
    "no answer needed",
    "no action needed",
    "keine antwort nötig",
    "keine antwort notwendig",
    "pas besoin de répondre",
    "no hace falta responder",
    "no hace falta que respondas",
    "返信不要",
    "返信は不要",
    "无需回复",
    "不用回复",
)
OFFERS = (
    "anything else",
    "any other question",
    "any questions",
    "any further",
    "further questions",
    "need anything",
    "need any help",
    "need more help",
    "need help with",
    "else i can",
    "happy to help",
    "glad to help",
    "be of help",
    "kann ich sonst",
    "sonst noch",
    "autre chose",
    "algo más",
)

"""The words of the core language: performatives, wrappers, and the ways to speak of dialects."""

from __future__ import annotations

TELL, ASK, REPLY, HELLO, BYE, OK, ERROR, CANCEL = "tell", "ask", "reply", "hello", "bye", "ok", "error", "cancel"
PERFORMATIVES = (TELL, ASK, REPLY, HELLO, BYE, OK, ERROR, CANCEL)
META, LANG = "meta", "lang"
ENVELOPE, SIGNED, LIMITED = "envelope", "signed", "with-limits"
WRAPPERS = (ENVELOPE, SIGNED, LIMITED)
HEADS = (*PERFORMATIVES, META, LANG, *WRAPPERS)
DEFINE, QUERY, TEACH = "define", "query", "teach"
CORE = "cbcl"  # the dialect that every agent speaks

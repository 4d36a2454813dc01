"""Recording facts and walking through them: the store, who may write, redactions, lines put aside."""

"""Messages as the rules see them: messages, envelopes, mentions, intents. Decisions about them are in `judging`."""

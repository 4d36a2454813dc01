"""What was said, as the rules see it: messages, envelopes, mentions, intents. What follows from it is in `judging`."""

"""At whom a message is aimed, what response it needs, how it is shown, and who is responsible for it."""

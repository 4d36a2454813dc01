"""Who is here: identities, their liveness, and later what they hold. Pure rules over facts."""

"""Groups looked after over time: reminders, silence, nudges."""

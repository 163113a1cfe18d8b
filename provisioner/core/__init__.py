"""The pure core: what to do is a function of what is known, what happened, the time and the settings."""

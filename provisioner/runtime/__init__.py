"""Trio and the operating system; carries out what the core decided and decides nothing itself."""

"""Trio and the operating system; decides nothing."""

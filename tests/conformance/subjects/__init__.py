"""Providers to be examined: an honest one and many that are broken in one way."""

"""Replays of job logs against a real daemon with a driver from outside the project; run by `make replay`, never by
the suite."""

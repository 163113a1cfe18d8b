"""What no file of the project may mention: paths of one machine, hosts of package registries, secrets' shapes."""

import re

# Written so that this file does not mention them itself.
MENTIONS = {
    "a path of one machine": re.compile(r"(?<![\w.])/(?:work|farm|home/\w|root|Users/\w|tmp/bash_jobs)(?:/|\b)"),
    "a package registry's host": re.compile(
        r"\b(?:pypi\.org|python" + r"hosted|registry\.npmjs|registry\.yarnpkg|crates\.io|proxy\.golang|deb\.debian)\b"
    ),
    "what looks like a secret": re.compile(
        r"AKIA[0-9A-Z]{16}|-----BEGIN (?:[A-Z]+ )*PRIVATE" + r" KEY-----|\bgh[pousr]_[A-Za-z0-9]{36}"
    ),
}


def mentions(path: str, text: str) -> list[str]:
    """Every line of a text that mentions what must stay out, as `path:line what`."""
    return [
        f"{path}:{number} names {what}"
        for number, line in enumerate(text.split("\n"), 1)
        for what, pattern in MENTIONS.items()
        if pattern.search(line)
    ]

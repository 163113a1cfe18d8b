"""What a provider itself says to an operator: the last of its standard error, and answers to calls by hand.

It alone knows how those are asked for and printed; a provider's texts are made harmless before they are shown.
"""

import json
import sys
import time
from typing import Any

from provisioner.cli.exits import CommandEnds, Exit
from provisioner.cli.look import path_to
from provisioner.cli.provider_orders import who_types
from provisioner.cli.rest_client import BODY_BYTES_MOST, Client
from provisioner.cli.show import harmless, json_text, print_json

Body = dict[str, Any]
CALL_S = 70.0
FOLLOW_EVERY_S = 1.0
FOLLOWED_LINES = 10_000


def logs(client: Client, provider: str, lines: int) -> Body:
    """The last lines that the provider's process and the one before it wrote."""
    return client.get(f"{path_to('/v1/providers', provider)}/logs?lines={lines}")


def print_logs(body: Body, *, as_json: bool) -> None:
    """The lines of each process below a line that says which one it is."""
    if as_json:
        print_json(body)
        return
    if not body["processes"]:
        print(f"{body['provider']} has not been started yet ({body['state'].replace('_', ' ')})")
    for words in body["processes"]:
        _print_words(words, words["lines"])


def follow(client: Client, provider: str, body: Body, *, as_json: bool) -> None:
    """Goes on with what is written from now on, until interrupted; with `as_json` one object a line."""
    news = News(body)
    try:
        while True:
            time.sleep(FOLLOW_EVERY_S)
            for words in logs(client, provider, FOLLOWED_LINES)["processes"]:
                _print_news(words, news, as_json=as_json)
    except KeyboardInterrupt:
        return


class News:
    """What has been shown already of each process: up to which line, and whether its end was."""

    def __init__(self, body: Body) -> None:
        self._next = {words["process"]: _after(words) for words in body["processes"]}
        self._ended = {words["process"] for words in body["processes"] if words["ended"] is not None}

    def of(self, words: Body) -> tuple[bool, list[str]]:
        """Whether the process, or its end, is news; and the lines that are. Both are taken as shown from now on."""
        process = words["process"]
        lines = words["lines"][max(0, self._next.get(process, 1) - words["first"]) :]
        has_ended = words["ended"] is not None
        is_news = process not in self._next or (has_ended and process not in self._ended)
        self._next[process] = _after(words)
        self._ended |= {process} if has_ended else set()
        return is_news, lines


def _after(words: Body) -> int:
    """The number of the line that comes next."""
    return int(words["first"]) + len(words["lines"])


def _print_news(words: Body, news: News, *, as_json: bool) -> None:
    is_news, lines = news.of(words)
    if as_json:
        for line in lines:
            print(json_text({"process": words["process"], "line": line}), flush=True)
    elif is_news:
        _print_words(words, lines)
    else:
        _print_text(lines)


def _print_words(words: Body, lines: list[str]) -> None:
    ended = f", ended: {words['ended']}" if words["ended"] is not None else ""
    print(harmless(f"-- process {words['process']}{ended}"), flush=True)
    _print_text(lines)


def _print_text(lines: list[str]) -> None:
    for line in lines:
        print(harmless(line), flush=True)


def call(client: Client, provider: str, method: str, params: str | None) -> Body:
    """What came of one call; `params` is JSON, or - for standard input."""
    body = {"method": method, "params": _params(params), "by": who_types()}
    return client.post(f"{path_to('/v1/providers', provider)}/call", body, CALL_S)


def _params(text: str | None) -> object:
    if text is None:
        return None
    try:
        return json.loads(sys.stdin.read(BODY_BYTES_MOST + 1) if text == "-" else text)
    except (ValueError, RecursionError):
        raise CommandEnds(Exit.USAGE, 'the parameters are no JSON; write them like \'{"view": "state"}\'') from None


def print_called(body: Body, *, as_json: bool) -> Exit:
    """The provider's own answer as JSON; the exit code says whether it is one."""
    if as_json:
        print_json(body)
    elif body["outcome"] != "lost":
        print_json(body["result"] if body["outcome"] == "answered" else body["error"])
    match body["outcome"]:
        case "answered":
            return Exit.OK
        case "refused":
            print(f"provisioner: {body['provider']} refused {body['method']}", file=sys.stderr)
            return Exit.REFUSED
        case _:
            print(f"provisioner: {harmless(body['why'])}", file=sys.stderr)
            return Exit.UNREACHABLE

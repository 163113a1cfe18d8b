"""Every kind of fault of a provider's settings, with the exact text an operator reads."""

import pytest

from tests.edge.config_texts import MINIMAL, faults_of

NAME_REMEDY = "write at most 40 of a-z, 0-9 and hyphens, with a letter or digit at both ends"


def in_east(settings: str) -> str:
    """MINIMAL with more settings for its provider."""
    return MINIMAL.replace("[program]", f"[program], {settings}")


def in_template(settings: str) -> str:
    """MINIMAL with settings for the templates c6i.*."""
    return in_east(f'templates: {{"c6i.*": {{{settings}}}}}')


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ("price: 3 USD", ': "3 USD" lacks a unit of time; write "3 USD/h"'),
        ("price: 3", ': 3 lacks a currency and a unit of time; write "3 USD/h"'),
        ("price: 3 USD/month", ': "month" is not what a price can be for; write "3 USD/h"'),
        ("price: 3 USD/unit_hour", ': "unit_hour" is not what a price can be for; write "3 USD/unit-hour"'),
        ("price: cheap", ': "cheap" is no price; write it like "3 USD/h" or "2 USD/unit-hour"'),
        ("price: -3 USD/h", ': "-3 USD/h" is no price; write it like "3 USD/h" or "2 USD/unit-hour"'),
        ("price: 0.1234567891 USD/h", ': "0.1234567891 USD/h" has more than nine decimals; round it up'),
        (
            "price: 3 EUR/h",
            ': "3 EUR/h" is not in USD, the currency of all sums; '
            "write it in USD; exchange rates are not yet supported",
        ),
        ("billing: {quantum: 1500ms}", '.quantum: "1500ms" is not in whole seconds; round it up'),
        (
            "billing: {starts: soon}",
            '.starts: "soon" is not among its choices; write "requested" or "made" or "running"',
        ),
        ("lead_time: {typical: 1m}", '.worst: is missing; write it like "90s" or "10m"'),
        (
            "lead_time: {typical: 2m, worst: 1m}",
            ".typical: 2m is longer than `worst`, 1m; write at most 1m, or a longer `worst`",
        ),
        ("usable: 90%", ": is no mapping; write it with the keys memory"),
        ("where: x86_64", ": is no mapping; write it like {arch: x86_64}"),
        ("where: {Arch: a}", '.Arch: "Arch" is no attribute; begin with a letter and go on with a-z, 0-9, _ and dots'),
        (
            "where: {cores: [4, 8]}",
            ".cores: is no list of words; write a word, a list of words, a number, a size, or {min: 4, max: 16}",
        ),
        ("where: {cores: {min: 8, max: 4}}", ".cores: no amount can meet it; write min no bigger than max"),
        (
            "where: {cores: {atleast: 4}}",
            '.cores: "atleast" is no bound; write a word, a list of words, a number, a size, or {min: 4, max: 16}',
        ),
        (
            "where: {cores: }",
            ".cores: has no value; write a word, a list of words, a number, a size, or {min: 4, max: 16}",
        ),
        ("consumers: [DV]", f'[0]: "DV" is no name; {NAME_REMEDY}'),
    ],
)
def test_a_fault_of_a_template_names_provider_and_pattern(settings: str, fault: str) -> None:
    key = settings.split(":", maxsplit=1)[0]
    found = faults_of(in_template(settings))
    assert len(found) == 1
    place, _, rest = found[0].partition(" ")
    assert place.startswith("c.yaml:5:")
    assert rest == f'providers.east.templates."c6i.*".{key}{fault}'


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ("command: program --token=hunter2", "5:29 providers.east.command: is no list in brackets"),
        ("command: []", "5:29 providers.east.command: is no list in brackets"),
        ("command: ['']", "5:30 providers.east.command[0]: is no text a program can be given"),
    ],
)
def test_a_command_is_a_list_and_is_never_quoted(settings: str, fault: str) -> None:
    text = MINIMAL.replace("command: [program]", settings)
    assert faults_of(text) == [f"c.yaml:{fault}; write the program and its arguments like [program, argument]"]


@pytest.mark.parametrize(
    ("credentials", "field", "sentence"),
    [
        ("env: ['KEY=hunter2']", "env[0]", "is no name of an environment variable"),
        ("env: hunter2", "env", "is no list in brackets"),
        ("file: [/etc/hunter2]", "file[0]", "is no plain name of a credential file"),
        ("file: {key: hunter2}", "file", "is no list in brackets"),
    ],
)
def test_credentials_are_names_and_a_fault_never_shows_what_was_written(
    credentials: str, field: str, sentence: str
) -> None:
    (fault,) = faults_of(in_east(f"credentials: {{{credentials}}}"))
    assert f" providers.east.credentials.{field}: {sentence}; " in fault
    assert "never the secret itself" in fault
    assert "hunter2" not in fault


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ("config: [a]", "config: is no mapping; write the provider's settings as key: value"),
        ("config: {a: .inf}", "config.a: .inf cannot be sent to a provider; write a finite number"),
        (
            "config: {a: 9007199254740992}",
            'config.a: 9007199254740992 is beyond 2^53; write it in quotes: "9007199254740992"',
        ),
        (
            "config: {a: " + "[" * 30 + "]" * 30 + "}",
            f"config.a{'[0]' * 28}: is nested too deep for a message; write it flatter",
        ),
        (
            f"config: {{a: {'ü' * 262_141}}}",
            "config: is 524,290 bytes long, over the 524,288 a provider can be told; "
            "put what is long into a file, and its path here",
        ),
    ],
)
def test_a_providers_configuration_must_fit_into_a_message(config: str, fault: str) -> None:
    (found,) = faults_of(in_east(config))
    assert found.partition(" ")[2] == f"providers.east.{fault}"


def test_half_of_a_character_is_refused_as_no_message_can_carry_it() -> None:
    assert faults_of(in_east('config: {a: "\\ud800"}')) == [
        "c.yaml:5:52 providers.east.config.a: holds half of a character; write the character itself"
    ]

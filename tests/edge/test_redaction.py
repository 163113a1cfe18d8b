"""What counts as a secret, and that it is hidden wherever it stands."""

import json
from urllib.parse import quote

import pytest

from provisioner.edge.redaction import Hidden, secrets_in_config, secrets_in_file
from tests.runtime.test_log import alarm_after_s


def test_a_value_is_hidden_in_text_and_in_json_however_it_is_escaped() -> None:
    value = 'pass"word\\with/ü\n'
    hidden = Hidden([value])
    for written in (json.dumps({"a": value}), json.dumps({"a": value}, ensure_ascii=False)):
        assert hidden.frame(written.encode()) == b'{"a": "[hidden]"}'
    assert hidden.text(f"it is {value}.") == "it is [hidden]."


def test_in_text_a_value_is_hidden_also_as_json_and_urls_write_it() -> None:
    value = 'pass"word\\with/ü'
    in_json = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    for written in (*in_json, quote(value), quote(value, safe="")):
        assert Hidden([value]).text(f"it is {written}.") == "it is [hidden]."


def test_the_beginning_of_a_value_at_a_cut_is_hidden_and_an_ordinary_end_stays() -> None:
    hidden = Hidden(["hunter2-hunter3"])
    assert hidden.text("it is hunter2-hun", is_cut=True) == "it is [hidden]"
    assert hidden.text("it is hunt", is_cut=True) == "it is [hidden]"
    assert hidden.text("it is hun", is_cut=True) == "it is hun"
    assert hidden.text("it is hunter2-hun") == "it is hunter2-hun"


def test_what_a_message_says_to_people_is_bare_of_values_and_no_longer_and_all_else_stays() -> None:
    hidden = Hidden(["us-east-1"])
    frame = b'{"data":{"detail":"no us-east-1","reason" : "us-east-1"},"region":"us-east-1"}'
    assert hidden.said(frame) == b'{"data":{"detail":"no ******","reason" : "******"},"region":"us-east-1"}'
    assert hidden.said(b'{"detail":"\\"us-east-1') == b'{"detail":"\\"us-east-1'


@pytest.mark.parametrize("filler", [b'"detail":"', b'\\"detail":"', b"\\", b'"detail"', b'"detail": ', b'"'])
def test_words_that_are_made_to_be_slow_cost_no_more_than_their_length(filler: bytes) -> None:
    frame = b'{"detail":"us-east-1' + filler * (400_000 // len(filler))
    with alarm_after_s(20):
        assert Hidden(["us-east-1"]).said(frame).startswith(b'{"detail":"')


def test_of_two_values_that_begin_alike_the_longer_is_hidden_whole() -> None:
    assert Hidden(["secret", "secret-and-more"]).text("secret-and-more secret") == "[hidden] [hidden]"


def test_ordinary_short_words_are_not_hidden() -> None:
    assert Hidden(["true", "1", ""]).text("true 1") == "true 1"


@pytest.mark.parametrize(
    ("frame", "shown"),
    [
        (b'{"access":{"K":"v","L":"w"},"name":"n"}', b'{"access":{"K":"[hidden]","L":"[hidden]"},"name":"n"}'),
        (b'{"access" : { "K" : "a}\\"b" } , "name":"n"}', b'{"access" : { "K" : "[hidden]" } , "name":"n"}'),
        (b'{"access":{},"name":"n"}', b'{"access":{},"name":"n"}'),
        (b'{"access":{"K":"cut in the mid', b'{"access":{"K":"[hidden]"'),
        (b'{"access":{"K":"cut in an escape\\', b'{"access":{"K":"[hidden]"'),
        (b'{"access":"text","name":"n"}', b'{"access":"text","name":"n"}'),
    ],
)
def test_what_access_gives_is_hidden_and_all_else_stays(frame: bytes, shown: bytes) -> None:
    assert Hidden().frame(frame) == shown


@pytest.mark.parametrize("filler", [b'{"access":{', b'"', b'"a":', b'\\"', b"\\", b" ", b'"access"', b"}", b'"\\'])
def test_what_is_made_to_be_slow_costs_no_more_than_its_length(filler: bytes) -> None:
    frame = b'{"access":{"a":' + filler * (400_000 // len(filler))
    with alarm_after_s(20):  # steps that grow with the square of the length would take an hour
        assert Hidden().frame(frame).startswith(b'{"access":{"a":')


def test_texts_below_keys_that_are_called_like_secrets_are_secrets_at_any_depth() -> None:
    config = {"region": "east", "db": [{"Password": "one"}, {"apiKey": "two", "n": 3}], "auth_token": "three"}
    assert sorted(secrets_in_config(config)) == ["one", "three", "two"]


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"auth": {"user": "u-one", "pin": "p-one", "region": "east"}}, {"u-one", "p-one"}),
        ({"tokens": ["t-one", {"t": "t-two"}]}, {"t-one", "t-two"}),
        ({"api-key": "a", "ssh_key": "b", "key": "c", "pwd": "d", "pass": "e", "passphrase": "f", "cookie": "g"},
         set("abcdefg")),
        ({"key_name": "no", "keyboard": "no", "passive": "no", "n": 3}, set()),
        ({"proxy": "https://me:hunter2@proxy.example:8080/a", "plain": "https://proxy.example/a:b@c"}, {"hunter2"}),
    ],
)  # fmt: skip
def test_what_of_a_configuration_is_hidden(config: dict[str, object], found: set[str]) -> None:
    assert set(secrets_in_config(config)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("just-one-token-4711\n", {"just-one-token-4711"}),
        ("[a]\naws_secret_access_key = abcdefgh=/+1\nregion = eu-central-1\nshort = abc\n", {"abcdefgh=/+1"}),
        ('export CLOUD_KEY="quoted-value"\nexport CLOUD_URL=https://api.example\n', {"quoted-value"}),
        ("user: somebody-long\npassword: 'in-single-quotes'\n", {"somebody-long", "in-single-quotes"}),
        ('{"token": "in-json-4711", "token_uri": "https://x.example", "deep": [{"k": "eight-char"}]}',
         {"in-json-4711", "eight-char"}),
        ('{"private_key": "-----BEGIN KEY-----\\nMIIEabcdefgh==\\n"}',
         {"-----BEGIN KEY-----\nMIIEabcdefgh==", "-----BEGIN KEY-----", "MIIEabcdefgh=="}),
        ("-----BEGIN KEY-----\nMIIEabcdefgh==\n", {"-----BEGIN KEY-----", "MIIEabcdefgh=="}),
        ("", set()),
    ],
)  # fmt: skip
def test_what_of_a_credential_file_is_hidden(text: str, found: set[str]) -> None:
    assert set(secrets_in_file(text)) == found

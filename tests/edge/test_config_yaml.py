"""What YAML itself gets wrong, with the exact text an operator reads."""

import pytest

from tests.edge.config_texts import MINIMAL, faults_of


@pytest.mark.parametrize(
    ("appended", "fault"),
    [
        ("policy:\n\ttick: 10s", "7:1: a tab stands where YAML wants spaces; indent with spaces"),
        ("budgets: none", "6:1 budgets: written twice, first on line 4; keep one of the two"),
        (
            "policy: {tick: !!int 10s}",
            '6:16 policy.tick: the tag "tag:yaml.org,2002:int" has no meaning here; leave the tag out',
        ),
        ("---\ncluster: other", "6:1: a second document begins here; keep one document in the file"),
        ("policy: {tick: *gone}", "6:16 policy.tick: *gone names no earlier, finished value; write the value out"),
        ("? [a]\n: 1", "6:3: a key is not a plain text; write a short text before the colon"),
        (
            "policy: [",
            "7:1: not YAML: expected the node content, but found '<stream end>'; "
            'check the indentation, and quote texts that hold ": " or " #"',
        ),
    ],
)
def test_a_fault_of_yaml_is_told_exactly(appended: str, fault: str) -> None:
    assert faults_of(MINIMAL + appended + "\n") == [f"c.yaml:{fault}"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~"])
def test_an_empty_file_says_what_to_write(text: str) -> None:
    assert faults_of(text) == [
        "c.yaml:1:1: the file is empty; write cluster, controller, listen, budgets and providers"
    ]


def test_a_file_that_is_no_mapping_says_its_keys() -> None:
    (fault,) = faults_of("- cluster: demo\n")
    assert fault.startswith("c.yaml:1:1: is no mapping; write it as key: value, with the keys version, cluster, ")


def test_faults_of_a_file_for_an_earlier_yaml_are_told() -> None:
    assert faults_of("%YAML 1.1\n---\n" + MINIMAL) == [
        "c.yaml:2:1: the file is read as YAML 1.2; leave the %YAML line out"
    ]


def test_a_merge_key_is_refused() -> None:
    found = faults_of(MINIMAL + "consumers: {a: &a {priority: 1}, b: {<<: *a}}\n")
    assert found[0] == "c.yaml:6:38 consumers.b.<<: merge keys are no part of YAML 1.2; write the values out".replace(
        "consumers.b.<<", 'consumers.b."<<"'
    )


def test_a_value_that_holds_itself_is_refused() -> None:
    assert faults_of("a: &a [*a]\n") == ["c.yaml:1:8 a[0]: *a names no earlier, finished value; write the value out"]


def test_too_deep_too_long_and_too_many_are_refused_without_being_read() -> None:
    assert faults_of("[" * 60 + "]" * 60) == ["c.yaml:1:50: values are nested more than 48 deep; write them flatter"]
    assert faults_of("#" * (1024 * 1024 + 1)) == ["c.yaml:1:1: the file is longer than 1 MiB; split what it configures"]
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    (fault,) = faults_of(bomb)
    assert fault == "c.yaml:5:5 a4: more than 100000 values, aliases written out; use fewer aliases"


def test_a_character_yaml_forbids_is_told() -> None:
    assert faults_of("cluster: \x00") == [
        "c.yaml:1:1: the file holds a character that YAML does not allow; write it as plain UTF-8 text"
    ]

"""Every kind of fault of the daemon's own settings, with the exact text an operator reads."""

import pytest

from tests.edge.config_texts import MINIMAL, faults_of

NAME_REMEDY = "write at most 40 of a-z, 0-9 and hyphens, with a letter or digit at both ends"
EAST = "{east: {command: [program]}}"


@pytest.mark.parametrize(
    ("appended", "fault"),
    [
        # Durations
        (
            "policy: {tick: 10}",
            '6:16 policy.tick: 10 lacks a unit of time; write "10s", "10m" or "10h"',
        ),
        (
            "policy: {tick: never}",
            '6:16 policy.tick: "never" is no duration; write it like "90s", "10m", "1h30m" or "7d"',
        ),
        ("policy: {tick: 50ms}", '6:16 policy.tick: "50ms" is too little; write at least 100ms'),
        ("policy: {tick: }", '6:15 policy.tick: has no value; write it like "90s" or "10m", or leave the setting out'),
        (
            "policy: {tick: [1s]}",
            '6:16 policy.tick: a list stands where a duration is wanted; write it like "90s" or "10m"',
        ),
        (
            "policy: {tick: {every: 1s}}",
            '6:16 policy.tick: a mapping stands where a duration is wanted; write it like "90s" or "10m"',
        ),
        # Other quantities
        (
            "policy: {back_off: {jitter: 0.2}}",
            '6:29 policy.back_off.jitter: "0.2" is no percentage; '
            'write it like "80%" or "92.5%", with one decimal at most',
        ),
        ("policy: {back_off: {jitter: 101%}}", '6:29 policy.back_off.jitter: "101%" is too much; write at most 100%'),
        (
            "keep: {log_tail: 1MB}",
            '6:18 keep.log_tail: "1MB" is not in powers of 1024, as sizes are here; write "1MiB"',
        ),
        (
            "keep: {log_tail: 4096}",
            '6:18 keep.log_tail: 4096 lacks a unit of size; write "4096MiB", "4096GiB" or "4096B"',
        ),
        ("keep: {log_tail: 1XB}", '6:18 keep.log_tail: "XB" is no unit of size; write B, KiB, MiB, GiB or TiB'),
        ("keep: {log_tail: big}", '6:18 keep.log_tail: "big" is no size; write it like "512MiB" or "16GiB"'),
        ("keep: {log_tail: 1KiB}", '6:18 keep.log_tail: "1KiB" is too little; write at least 4KiB'),
        ("keep: {log_tail: 0.3B}", '6:18 keep.log_tail: "0.3B" is no whole number of bytes; use a smaller unit'),
        # Numbers, flags, words
        (
            "policy: {request: {max_units: '5'}}",
            '6:31 policy.request.max_units: "5" is a text; write 5 without quotes',
        ),
        (
            "policy: {request: {max_units: 2.5}}",
            '6:31 policy.request.max_units: "2.5" is no whole number; write a whole number',
        ),
        ("policy: {request: {max_units: 0}}", "6:31 policy.request.max_units: 0 is too little; write at least 1"),
        ("version: 2", "6:10 version: version 2 of the format is not known; write 1"),
        (
            "consumers: {dv: {exclusive: yes}}",
            '6:29 consumers.dv.exclusive: "yes" is a text in YAML 1.2; write true',
        ),
        (
            "consumers: {dv: {exclusive: maybe}}",
            '6:29 consumers.dv.exclusive: "maybe" is neither true nor false; write true or false',
        ),
        (
            "sources: {lsf: {handshake: dance}}",
            '6:28 sources.lsf.handshake: "dance" is not among its choices; write "drain" or "none"',
        ),
        (
            "money: {currency: dollars}",
            '6:19 money.currency: "dollars" is no currency; write three capital letters, such as "USD"',
        ),
        (
            "orphans: automatic",
            '6:10 orphans: "automatic" is not yet supported by this version; write "report"',
        ),
        # Names and sections
        ("sources: {LSF: {}}", f'6:11 sources.LSF: "LSF" is no name; {NAME_REMEDY}'),
        ("sources: [lsf]", "6:10 sources: is no mapping; write names, each with its settings"),
        ("keep: all", "6:7 keep: is no mapping; write it as key: value, with the keys log_tail, blackbox"),
        ("return: {retry: 10s}", "6:17 return.retry: is no mapping; write it with the keys first, most"),
        (
            "consumers: {dv: {providers: [east, west]}}",
            '6:36 consumers.dv.providers[1]: "west" is no provider of this file; the file has: east',
        ),
        (
            "consumers: {dv: {providers: east}}",
            "6:29 consumers.dv.providers: is no list in brackets; write it like [first, second]",
        ),
        # Names that are unknown
        ("polcy: {}", '6:1 polcy: is no setting; did you mean "policy"?'),
        ("policy: {idle_time: 1m}", "6:10 policy.idle_time: is no setting; did you mean policy.reclaim.idle_time?"),
        ("keep: {xyz: 1}", "6:8 keep.xyz: is no setting; known here: log_tail, blackbox"),
        ("list: {evry: 1m}", '6:8 list.evry: is no setting; did you mean "every"?'),
        ("budgts: none", '6:1 budgts: is no setting; did you mean "budgets"?'),
        # Values against each other
        (
            "policy: {back_off: {first: 1h}}",
            "6:28 policy.back_off.first: 1h is longer than `most`, 30m; write at most 30m, or a longer `most`",
        ),
        (
            "return: {retry: {most: 1s}}",
            "6:17 return.retry.first: 10s is longer than `most`, 1s; write at most 1s, or a longer `most`",
        ),
        (
            "policy: {min_interval: 20s}",
            "6:24 policy.min_interval: 20s is longer than `tick`, 10s; write at most 10s, or a longer `tick`",
        ),
    ],
)
def test_a_fault_below_a_minimal_file_is_told_exactly(appended: str, fault: str) -> None:
    assert faults_of(MINIMAL + appended + "\n") == [f"c.yaml:{fault}"]


@pytest.mark.parametrize(
    ("listen", "fault"),
    [
        ("{}", "3:9 listen: opens no door; write `socket: PATH`, or `http` with `bind` and `token_file`"),
        ("{http: {bind: '127.0.0.1:1'}}", "3:16 listen.http.token_file: is missing; write a path"),
        (
            "{http: {bind: '0.0.0.0:8642', token_file: t}}",
            '3:23 listen.http.bind: "0.0.0.0:8642" is open to the network; '
            'write "127.0.0.1:8642"; listening on a network needs TLS, which is not yet supported',
        ),
        (
            "{http: {bind: 'example.com:8642', token_file: t}}",
            '3:23 listen.http.bind: "example.com" is no IP address; write the address itself, such as "127.0.0.1:8642"',
        ),
        (
            "{http: {bind: '127.0.0.1:99999', token_file: t}}",
            '3:23 listen.http.bind: "127.0.0.1:99999" is no address; write address and port, such as "127.0.0.1:8642"',
        ),
        (
            "{http: {bind: 8642, token_file: t}}",
            '3:23 listen.http.bind: 8642 is read as a number; write it in quotes: "8642"',
        ),
        (
            "{socket: ~/api.sock}",
            '3:18 listen.socket: "~/api.sock" begins with ~, which means nothing here; write the whole path',
        ),
        ("{socket: ''}", '3:18 listen.socket: "" is no path; write the path of a file'),
    ],
)
def test_a_door_is_a_socket_or_a_loopback_address_with_a_token(listen: str, fault: str) -> None:
    assert faults_of(MINIMAL.replace("{socket: api.sock}", listen)) == [f"c.yaml:{fault}"]


def test_a_socket_path_may_have_107_bytes_with_its_folder_and_no_more() -> None:
    longest = "d" * (107 - len("/etc/p/"))
    fits = faults_of(MINIMAL.replace("api.sock", longest) + "version: 2")
    assert [fault for fault in fits if "socket" in fault] == []
    assert faults_of(MINIMAL.replace("api.sock", longest + "d")) == [
        "c.yaml:3:18 listen.socket: the whole path is 108 bytes long, a Unix socket's may have 107; "
        "choose a shorter folder, such as /run/provisioner"
    ]


@pytest.mark.parametrize(
    ("budgets", "fault"),
    [
        (
            "unlimited",
            "4:10 budgets: is no list of limits; write `budgets: none`, or a list such as [{scope: all, limit: none}]",
        ),
        ("[]", "4:10 budgets: has no limit for `all`; add {scope: all, limit: none}"),
        ("[{scope: all}]", '4:11 budgets[0].limit: is missing; write "none"'),
        ("[{scope: all, limit: 5}]", '4:31 budgets[0].limit: "5" is not among its choices; write "none"'),
        ("[{scope: all, limit: low}]", '4:31 budgets[0].limit: "low" is not among its choices; write "none"'),
    ],
)
def test_a_budget_for_all_must_be_written(budgets: str, fault: str) -> None:
    assert faults_of(MINIMAL.replace("budgets: none", f"budgets: {budgets}")) == [f"c.yaml:{fault}"]


def test_everything_that_must_be_written_is_asked_for_at_once() -> None:
    assert faults_of("version: 1\n") == [
        "c.yaml:1:1 cluster: is missing; write a name",
        "c.yaml:1:1 controller: is missing; write `controller: {sqlite: PATH}`",
        "c.yaml:1:1 listen: is missing; write `listen: {socket: PATH}`",
        "c.yaml:1:1 budgets: is missing; write `budgets: none`",
        "c.yaml:1:1 providers: is missing; write `providers: {NAME: {command: [PROGRAM]}}`",
    ]


def test_a_misspelt_name_is_not_also_missed() -> None:
    assert faults_of(MINIMAL.replace("cluster", "clustre")) == [
        'c.yaml:1:1 clustre: is no setting; did you mean "cluster"?'
    ]


def test_a_provider_needs_a_command_and_a_file_needs_a_provider() -> None:
    assert faults_of(MINIMAL.replace(EAST, "{east: }")) == [
        "c.yaml:5:18 providers.east.command: is missing; write the program and its arguments like [program, argument]"
    ]
    assert faults_of(MINIMAL.replace(EAST, "{}")) == ["c.yaml:5:12 providers: names no provider; write at least one"]


@pytest.mark.parametrize(("cluster", "kind"), [("123", "a number"), ("true", "true or false")])
def test_a_name_that_yaml_reads_as_something_else_wants_quotes(cluster: str, kind: str) -> None:
    assert faults_of(MINIMAL.replace("demo", cluster)) == [
        f'c.yaml:1:10 cluster: {cluster} is read as {kind}; write it in quotes: "{cluster}"'
    ]


def test_all_faults_come_at_once_in_the_order_of_the_file() -> None:
    assert faults_of("""\
cluster: Demo
controller: {sqlite: facts.db}
listen: {sokcet: api.sock}
budgets: none
consumers: {dv: {providers: [west]}}
providers:
  east: {command: [program], templates: {"c6i.*": {price: 3 USD}}}
keep: {gone: 1h, log_tail: 5}
""") == [
        f'c.yaml:1:10 cluster: "Demo" is no name; {NAME_REMEDY}',
        'c.yaml:3:10 listen.sokcet: is no setting; did you mean "socket"?',
        'c.yaml:5:30 consumers.dv.providers[0]: "west" is no provider of this file; the file has: east',
        'c.yaml:7:59 providers.east.templates."c6i.*".price: "3 USD" lacks a unit of time; write "3 USD/h"',
        "c.yaml:8:8 keep.gone: is not yet supported by this version "
        "(How long hosts that are gone stay listed); leave it out",
        'c.yaml:8:28 keep.log_tail: 5 lacks a unit of size; write "5MiB", "5GiB" or "5B"',
    ]

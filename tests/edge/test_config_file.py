"""A configuration file without faults becomes Settings."""

from provisioner.core.model import BillingEnd, BillingStart, Constraint, Per, Price
from provisioner.core.provider_settings import BillingOverride, LeadTime
from provisioner.core.settings import (
    Address,
    Budget,
    Consumer,
    Credentials,
    HttpBind,
    Listen,
    ProviderSettings,
    Settings,
    SourceSettings,
    SqliteController,
)
from tests.edge.config_texts import MINIMAL, settings_of

GIB = 2**30


def test_a_minimal_file_has_the_defaults_of_the_classes() -> None:
    assert settings_of(MINIMAL) == Settings(
        cluster="demo",
        controller=SqliteController(path="/etc/p/facts.db"),
        listen=Listen(socket="/etc/p/api.sock"),
        providers={"east": ProviderSettings(name="east", command=("program",))},
    )


def test_a_section_with_nothing_in_it_has_its_defaults() -> None:
    assert settings_of(MINIMAL + "policy:\nsources: {lsf: }\nkeep: {}\n") == settings_of(MINIMAL + "sources: {lsf: {}}")


def test_every_setting_of_the_first_half_is_read() -> None:
    settings = settings_of("""\
version: 1
cluster: chip-prod
controller: {sqlite: /var/lib/p/facts.db}
listen: {socket: /run/p/api.sock, http: {bind: "127.0.0.1:8642", token_file: ../token}}
sources:
  lsf: {fresh_for: 90s, netting_window: 2m, handshake: none}
  ops: {fresh_for: never}
money: {currency: EUR}
budgets: [{scope: all, limit: none}]
consumers:
  default:
  asic: {priority: -5}
  dv: {exclusive: false, providers: [east]}
  any: {providers: all}
policy:
  tick: 5s
  min_interval: 0s
  shrink_delay: 1h
  reclaim: {idle_time: 4s, min_hold: 1m, parallel_returns: 3}
  drain: {answer_within: 500ms, retry: 2s}
  back_off: {first: 1s, most: 2s, jitter: 12.5%, park_after: 4}
  join: {first: 20m}
  cover: {unless_learned: 3m}
  request: {max_units: 7}
orphans: report
return: {retry: {first: 1s, most: 2s}, stuck_after: 3s}
list: {every: 10s}
keep: {log_tail: 64KiB}
providers: {east: {command: [program]}}
""")
    assert settings.listen.http == HttpBind(bind=Address(host="127.0.0.1", port=8642), token_file="/etc/token")
    assert settings.sources == {
        "lsf": SourceSettings(fresh_for_s=90.0, netting_window_s=120.0, handshake="none"),
        "ops": SourceSettings(fresh_for_s=None),
    }
    assert settings.money.currency == "EUR"
    assert settings.budgets == (Budget(scope="all", limit="none"),)
    assert settings.consumers == {
        "default": Consumer(exclusive=False),
        "asic": Consumer(exclusive=True, priority=-5),
        "dv": Consumer(exclusive=False, providers=("east",)),
        "any": Consumer(),
    }
    policy = settings.policy
    assert (policy.tick_s, policy.min_interval_s, policy.shrink_delay_s, policy.cover_s) == (5.0, 0.0, 3600.0, 180.0)
    assert (policy.reclaim.idle_time_s, policy.reclaim.min_hold_s, policy.reclaim.parallel_returns) == (4.0, 60.0, 3)
    assert (policy.drain.answer_within_s, policy.drain.retry_s) == (0.5, 2.0)
    assert (policy.back_off.jitter_permille, policy.back_off.park_after) == (125, 4)
    assert (policy.join.first_s, policy.request.max_units) == (1200.0, 7)
    retry = settings.return_retry
    assert (retry.first_s, retry.most_s, retry.stuck_after_s, settings.list_every_s) == (1.0, 2.0, 3.0, 10.0)
    assert settings.keep.log_tail_bytes == 64 * 1024


def test_every_setting_of_a_provider_is_read() -> None:
    provider = settings_of("""\
cluster: demo
controller: {sqlite: facts.db}
listen: {socket: api.sock}
budgets: none
providers:
  east:
    command: [./bin/program, --level, 3]
    credentials: {file: aws.ini, env: [AWS_PROFILE]}
    priority: 20
    max_units: 100
    limits: {calls: 2, call: 1m, start: 5s, ping: 6s, stop: 0s, frame: 2MiB, memory: 512MiB, stderr_rate: 7}
    orphans: report
    templates:
      "c6i.*":
        price: 0.25 USD/unit-hour
        billing: {quantum: 1h, minimum: 1m, starts: made, ends: return_accepted}
        lead_time: {typical: 6m, worst: 20m}
        max_units: 5
        priority: 3
        usable: {memory: 92.5%}
        where: {arch: x86_64, zone: [a, b], cores: 4, memory: {min: 16GiB, max: 64GiB}, gpu: true}
        consumers: [dv]
        idle_time: 1m
""").providers["east"]
    assert provider.command == ("/etc/p/bin/program", "--level", "3")
    assert provider.credentials == Credentials(file=("aws.ini",), env=("AWS_PROFILE",))
    assert (provider.priority, provider.max_units) == (20, 100)
    limits = provider.limits
    assert (limits.calls, limits.call_s, limits.start_s, limits.ping_s, limits.stop_s) == (2, 60.0, 5.0, 6.0, 0.0)
    assert (limits.frame_bytes, limits.memory_bytes, limits.stderr_rate) == (2 * 2**20, 512 * 2**20, 7)
    template = provider.override("c6i.large")
    assert template.price == Price(250_000_000, "USD", Per.UNIT_HOUR)
    assert template.billing == BillingOverride(
        quantum_s=3600, minimum_s=60, starts=BillingStart.MADE, ends=BillingEnd.RETURN_ACCEPTED
    )
    assert template.lead_time == LeadTime(typical_s=360, worst_s=1200)
    assert (template.max_units, template.priority, template.usable_memory_permille) == (5, 3, 925)
    assert template.where == (
        Constraint("arch", one_of=("x86_64",)),
        Constraint("zone", one_of=("a", "b")),
        Constraint("cores", least=4000, most=4000),
        Constraint("memory", least=16 * GIB * 1000, most=64 * GIB * 1000),
        Constraint("gpu", one_of=("true",)),
    )
    assert (template.consumers, template.idle_time_s) == (("dv",), 60.0)


def test_a_providers_own_configuration_is_handed_on_as_yaml_1_2_reads_it() -> None:
    text = MINIMAL.replace(
        "{command: [program]}",
        "{command: [p], config: "
        "{yes: no, day: 2031-03-04, n: 010, half: 0.5, empty: , deep: [{a: [true, ~]}], q: '7'}}",
    )
    assert settings_of(text).providers["east"].config == {
        "yes": "no",
        "day": "2031-03-04",
        "n": 10,
        "half": 0.5,
        "empty": None,
        "deep": [{"a": [True, None]}],
        "q": "7",
    }


def test_an_alias_stands_for_the_value_it_names() -> None:
    text = MINIMAL + "policy: {reclaim: {idle_time: &idle 3m, min_hold: *idle}}\n"
    assert settings_of(text).policy.reclaim.min_hold_s == 180.0


def test_a_program_without_a_slash_is_left_to_the_search_path() -> None:
    assert settings_of(MINIMAL).providers["east"].command == ("program",)


def test_localhost_means_the_loopback_address_and_ipv6_is_known() -> None:
    for written, host in (("localhost:0", "127.0.0.1"), ("[::1]:9", "::1"), ("127.8.0.1:9", "127.8.0.1")):
        text = MINIMAL.replace("{socket: api.sock}", f'{{http: {{bind: "{written}", token_file: t}}}}')
        http = settings_of(text).listen.http
        assert http is not None
        assert http.host == host

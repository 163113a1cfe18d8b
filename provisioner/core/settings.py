"""The settings the daemon obeys, as frozen values: one field is one row of the table, with form, default and sentence.

It alone says which settings exist and what holds when they are not written; it must not know how a file is parsed.
Durations (`_s`) are float seconds, sizes (`_bytes`) integers, ratios (`_permille`) integer thousandths, and money
(`_nanos`) integer nano-units. What later versions bring stands in settings_later.py, but for the fields marked `later`,
which hold their default until then.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from attrs import field, frozen

from provisioner.core.policy_settings import BackOff, Drain, Extend, Join, PolicySettings, Reclaim, RequestLimits
from provisioner.core.provider_settings import (
    USABLE_MEMORY_PERMILLE,
    BillingOverride,
    Credentials,
    LeadTime,
    ProviderLimits,
    ProviderSettings,
    TemplateOverride,
)
from provisioner.core.setting_rows import Form, Setting, all_settings, row

__all__ = [
    "USABLE_MEMORY_PERMILLE",
    "Address",
    "BackOff",
    "BillingOverride",
    "Budget",
    "Consumer",
    "Credentials",
    "Drain",
    "Extend",
    "Handshake",
    "HttpBind",
    "Join",
    "Keep",
    "LeadTime",
    "Listen",
    "MoneySettings",
    "Orphans",
    "PolicySettings",
    "ProviderLimits",
    "ProviderSettings",
    "Reclaim",
    "RequestLimits",
    "ReturnRetry",
    "Settings",
    "SourceSettings",
    "SqliteController",
    "TemplateOverride",
    "is_exclusive_unless_said",
    "settings_table",
]

MINUTE: Final = 60.0
KIB: Final = 1024
MIB: Final = 1024 * KIB

Handshake = Literal["drain", "none"]
Orphans = Literal["report"]


@frozen(kw_only=True)
class SqliteController:
    """Facts in one SQLite file inside the daemon."""

    path: str = field(metadata=row(Form.PATH, "The file of the facts; it is made at the first start.", key="sqlite"))


@frozen(kw_only=True)
class Address:
    """A loopback address and a port; port 0 lets the system choose."""

    host: str
    port: int


@frozen(kw_only=True)
class HttpBind:
    """The REST door over loopback, opened by a token."""

    bind: Address = field(
        metadata=row(Form.ADDRESS, "Loopback address and port, such as `127.0.0.1:8642` or `[::1]:8642`.")
    )
    token_file: str = field(metadata=row(Form.PATH, "File that holds the token every caller must show."))

    @property
    def host(self) -> str:
        """The loopback address to listen on."""
        return self.bind.host

    @property
    def port(self) -> int:
        """The port to listen on; 0 lets the system choose."""
        return self.bind.port


@frozen(kw_only=True)
class Listen:
    """The doors of the REST interface; at least one is open."""

    socket: str | None = field(
        default=None,
        metadata=row(
            Form.PATH,
            "Unix socket of the REST interface, for the daemon's own user only (mode 0600).",
            unstated="no socket",
        ),
    )
    http: HttpBind | None = field(
        default=None, metadata=row(Form.SECTION, "The REST interface over loopback.", of=HttpBind)
    )


@frozen(kw_only=True)
class SourceSettings:
    """How far one pusher of demand and supply is trusted."""

    fresh_for_s: float | None = field(
        default=5 * MINUTE,
        metadata=row(
            Form.DURATION,
            "A source not heard for this long is silent: nothing is bought for it and its hosts are not taken back.",
            least=1,
            none_word="never",
        ),
    )
    netting_window_s: float = field(
        default=MINUTE,
        metadata=row(
            Form.DURATION,
            "How long a host that just joined is still netted against demand that may not have counted it.",
        ),
    )
    handshake: Handshake = field(
        default="drain",
        metadata=row(
            Form.CHOICE,
            "Whether the source is asked to drain a host before it is returned, or idle time alone decides.",
            choices=("drain", "none"),
        ),
    )


@frozen(kw_only=True)
class MoneySettings:
    """The currency all sums are kept in."""

    currency: str = field(
        default="USD",
        metadata=row(Form.CURRENCY, "The currency of all sums; offers priced in another one are not bought."),
    )
    rates_nanos: Mapping[str, int] = field(
        factory=lambda: MappingProxyType({}),
        metadata=row(
            Form.RATES, "What one unit of another currency is worth, by currency.", unstated="none", later=True
        ),
    )
    zone: str = field(
        default="UTC", metadata=row(Form.ZONE, "The zone in which days and months of budgets begin.", later=True)
    )


@frozen(kw_only=True)
class Budget:
    """One limit on money; so far only the explicit absence of one for everything."""

    scope: Literal["all"] = field(metadata=row(Form.CHOICE, "What the limit holds for.", choices=("all",)))
    limit: Literal["none"] = field(
        metadata=row(Form.CHOICE, "Written out, so that unlimited spending is a choice.", choices=("none",))
    )


@frozen(kw_only=True)
class Consumer:
    """For whom hosts are bought (LSF rc_account, Slurm account)."""

    exclusive: bool = field(
        default=True,
        metadata=row(Form.FLAG, "Nobody else may use this consumer's hosts.", unstated="true, but false for `default`"),
    )
    priority: int = field(
        default=0,
        metadata=row(Form.COUNT, "Demand of a higher priority is served first.", least=-1_000_000, most=1_000_000),
    )
    providers: tuple[str, ...] | None = field(
        default=None, metadata=row(Form.NAMES, "The only providers it may buy from.", none_word="all")
    )


@frozen(kw_only=True)
class ReturnRetry:
    """How stubbornly a give-back is repeated."""

    first_s: float = field(
        default=10.0,
        metadata=row(Form.DURATION, "Pause after the first failed give-back.", key="retry.first", least=0.1),
    )
    most_s: float = field(
        default=10 * MINUTE,
        metadata=row(Form.DURATION, "The longest pause; it is never given up.", key="retry.most", least=0.1),
    )
    stuck_after_s: float = field(
        default=30 * MINUTE, metadata=row(Form.DURATION, "A give-back open this long is shown as stuck.", least=1)
    )


@frozen(kw_only=True)
class Keep:
    """What is kept, and how much of it."""

    log_tail_bytes: int = field(
        default=MIB,
        metadata=row(
            Form.SIZE, "How much of each provider's standard error is kept in memory.", least=4 * KIB, most=256 * MIB
        ),
    )
    blackbox_bytes: int | None = field(
        default=4 * MIB,
        metadata=row(
            Form.SIZE,
            "How much of what the daemon and each provider last said to each other is kept on disk.",
            least=256 * KIB, most=1024 * MIB, none_word="none",
        ),
    )  # fmt: skip


@frozen(kw_only=True)
class Settings:
    """Everything the operator said, with defaults filled in; paths are resolved against the file's folder."""

    version: Literal[1] = field(default=1, metadata=row(Form.VERSION, "The version of this file's format."))
    cluster: str = field(
        metadata=row(Form.NAME, "The cluster's name, on every mark; it must be unique in each cloud account.")
    )
    controller: SqliteController = field(
        metadata=row(
            Form.SECTION, "Where the facts are kept.", of=SqliteController, example="controller: {sqlite: PATH}",
        )
    )  # fmt: skip
    listen: Listen = field(
        default=Listen(),
        metadata=row(
            Form.SECTION, "Where the REST interface is reached; at least one door.",
            of=Listen, must_be_written=True, example="listen: {socket: PATH}",
        ),
    )  # fmt: skip
    sources: Mapping[str, SourceSettings] = field(
        factory=lambda: MappingProxyType({}),
        metadata=row(
            Form.ENTRIES, "The pushers of demand and supply, by name; one that is not listed gets the defaults.",
            of=SourceSettings, unstated="none listed",
        ),
    )  # fmt: skip
    money: MoneySettings = field(
        default=MoneySettings(), metadata=row(Form.SECTION, "How sums are kept.", of=MoneySettings)
    )
    budgets: tuple[Budget, ...] = field(
        default=(Budget(scope="all", limit="none"),),
        metadata=row(
            Form.BUDGETS, "Limits on money. So far `none` alone: nothing is limited, and that is said.",
            of=Budget, must_be_written=True, example="budgets: none",
        ),
    )  # fmt: skip
    consumers: Mapping[str, Consumer] = field(
        factory=lambda: MappingProxyType({}),
        metadata=row(
            Form.ENTRIES, "Who hosts are bought for, by name; one that is not listed gets the defaults.",
            of=Consumer, unstated="none listed",
        ),
    )  # fmt: skip
    policy: PolicySettings = field(
        default=PolicySettings(),
        metadata=row(Form.SECTION, "How buying and returning is decided.", of=PolicySettings),
    )
    orphans: Orphans = field(
        default="report",
        metadata=row(
            Form.CHOICE,
            "What happens to things that cost money and that nobody owns.",
            choices=("report",),
            later_choices=("confirm", "automatic"),
        ),
    )
    return_retry: ReturnRetry = field(
        default=ReturnRetry(), metadata=row(Form.SECTION, "How give-backs are repeated.", key="return", of=ReturnRetry)
    )
    list_every_s: float = field(
        default=MINUTE,
        metadata=row(Form.DURATION, "How often a provider is asked for all it has.", key="list.every", least=0.1),
    )
    providers: Mapping[str, ProviderSettings] = field(
        factory=lambda: MappingProxyType({}),
        metadata=row(
            Form.ENTRIES, "What is bought from, by name; at least one.",
            of=ProviderSettings, must_be_written=True, example="providers: {NAME: {command: [PROGRAM]}}",
        ),
    )  # fmt: skip
    keep: Keep = field(default=Keep(), metadata=row(Form.SECTION, "What is kept, and how much of it.", of=Keep))

    @property
    def default_source(self) -> SourceSettings:
        """The settings of a source the file does not list."""
        return SourceSettings()

    def source(self, name: str) -> SourceSettings:
        """The settings of one source, listed or not."""
        return self.sources.get(name, self.default_source)

    def consumer(self, name: str) -> Consumer:
        """The settings of one consumer, listed or not."""
        return self.consumers.get(name) or Consumer(exclusive=is_exclusive_unless_said(name))


def is_exclusive_unless_said(consumer: str) -> bool:
    """Whether a consumer keeps its hosts to itself when the file does not say: all but `default`."""
    return consumer != "default"


def settings_table() -> tuple[Setting, ...]:
    """The flat table of all settings, sections included, in the order of the file."""
    root: type[Any] = Settings
    return tuple(all_settings(root))

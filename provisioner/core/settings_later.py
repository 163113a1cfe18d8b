"""The settings that later versions bring: the file may not hold them, and is told so by name instead of being ignored.

It alone lists them; a row moves to its class in settings.py in the change that makes the daemon obey it.
"""

from typing import Final

from attrs import frozen


@frozen
class Later:
    """One setting that nothing obeys yet; `*` stands for the name of an entry."""

    name: str
    sentence: str


LATER: Final = (
    Later("controller.etcd", "Facts in etcd, shared by several daemons."),
    Later("controller.bridge", "Facts in a site's own controller, reached through a program."),
    Later("listen.tls", "The REST interface over the network, with TLS."),
    Later("access", "Tokens and roles of several callers."),
    Later("sources.*.trigger", "How many waiting lines, waiting how long, start a purchase."),
    Later("sources.*.dead_after", "When the demand of a silent source is withdrawn."),
    Later("budgets.*.rate", "Most money per hour for what is held at any time."),
    Later("budgets.*.day", "Most money per day."),
    Later("budgets.*.month", "Most money per month."),
    Later("budgets.*.units", "Most units held at any time."),
    Later("budgets.*.curb_at", "From which share of a limit purchases are curbed."),
    Later("budgets.*.at_limit", "What happens to what runs when a limit is passed."),
    Later("budgets.*.expected_stay", "How long a purchase is expected to stay."),
    Later("budgets.*.scope.provider", "A limit for one provider, or for each."),
    Later("budgets.*.scope.consumer", "A limit for one consumer, or for each."),
    Later("policy.step", "Most units newly bought per time."),
    Later("policy.spares", "Room kept free although nobody asks for it."),
    Later("policy.hook", "A program of the site that may cut purchases down."),
    Later("policy.gang", "How long parts of an all-or-nothing purchase are kept."),
    Later("policy.join_proof", "What a host must show to count as joined."),
    Later("policy.reclaim.idle_at_paid_end", "Idle time that is enough at the end of paid time."),
    Later("policy.reclaim.paid_margin", "How long before the end of paid time a host is given back."),
    Later("policy.reclaim.max_lifetime", "Longest life of a host."),
    Later("policy.reclaim.unreachable", "When hosts that the scheduler cannot reach are given back."),
    Later("policy.drain.notice_buffer", "How long before a deadline work is asked to leave."),
    Later("policy.back_off.quota", "Pause after a quota was hit."),
    Later("policy.back_off.auth_probe", "How often refused credentials are tried again."),
    Later("policy.back_off.throttle", "Pauses after throttling that names none."),
    Later("policy.back_off.canary", "How many units test an offer after a dry spell."),
    Later("sweep", "How things nobody owns are looked for and removed."),
    Later("lease", "How ownership is kept among several daemons."),
    Later("clock_jump", "Which jump of the wall clock freezes give-backs."),
    Later("rest", "Page sizes of the REST interface."),
    Later("providers.*.reclaim", "Reclaim settings of one provider."),
    Later("providers.*.restart", "Pauses before a provider's process is started again."),
    Later("providers.*.quarantine", "When a provider's process that keeps ending is left alone."),
    Later("providers.*.templates.*.was", "Earlier names of a template."),
    Later("providers.*.templates.*.keep_free", "Units of a pool that are left to others."),
    Later("providers.*.templates.*.max_lifetime", "Longest life of its hosts."),
    Later("keep.gone", "How long hosts that are gone stay listed."),
    Later("keep.records", "How long settled records are kept."),
    Later("keep.decisions", "How long decisions are kept."),
)

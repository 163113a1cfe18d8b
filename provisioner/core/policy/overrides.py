"""The operator's word over a provider's description of one template: what wins, and what is usable of it."""

from attrs import evolve

from provisioner.core.model import Billing, Template
from provisioner.core.policy.traits import MODEL, Traits, usable
from provisioner.core.provider_settings import USABLE_MEMORY_PERMILLE, BillingOverride, TemplateOverride


def overridden(template: Template, override: TemplateOverride) -> Template:
    """The template as it is offered here; a configured most counts like a capacity."""
    most = [m for m in (template.capacity_max, override.max_units) if m is not None]
    lead = override.lead_time
    return evolve(
        template,
        price=override.price or template.price,
        billing=_billing(template.billing, override.billing),
        lead_typical_s=template.lead_typical_s if lead is None else lead.typical_s,
        lead_worst_s=template.lead_worst_s if lead is None else lead.worst_s,
        capacity_max=min(most, default=None),
        priority=template.priority if override.priority is None else override.priority,
    )


def traits_on_offer(provider: str, template: Template, override: TemplateOverride | None) -> Traits:
    """What lines see of the template: usable size, labels with its model among them, place."""
    said = None if override is None else override.usable_memory_permille
    size = usable(template.size, USABLE_MEMORY_PERMILLE if said is None else said)
    labels = template.labels
    if template.model is not None and not any(attribute == MODEL for attribute, _ in labels):
        labels = tuple(sorted((*labels, (MODEL, template.model))))
    return Traits(template.kind, provider, template.template, size, labels, template.place)


def _billing(said: Billing, override: BillingOverride | None) -> Billing:
    if override is None:
        return said
    return Billing(
        quantum_s=said.quantum_s if override.quantum_s is None else override.quantum_s,
        minimum_s=said.minimum_s if override.minimum_s is None else override.minimum_s,
        starts=override.starts or said.starts,
        ends=override.ends or said.ends,
    )

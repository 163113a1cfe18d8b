"""The conformance kit: plays the daemon against any provider and reports by the contract's clauses.

Needs nothing of the provider but its command; must not know the daemon.
"""

from provider_sdk.testing.command import main
from provider_sdk.testing.manifest import Requirement, requirements
from provider_sdk.testing.process import NotStarted
from provider_sdk.testing.report import as_json, as_junit, as_text
from provider_sdk.testing.run import Refused, examine
from provider_sdk.testing.subject import Subject, SubjectFault, read_subject
from provider_sdk.testing.verdict import Breach, Outcome, Status, Verdict

__all__ = [
    "Breach",
    "NotStarted",
    "Outcome",
    "Refused",
    "Requirement",
    "Status",
    "Subject",
    "SubjectFault",
    "Verdict",
    "as_json",
    "as_junit",
    "as_text",
    "examine",
    "main",
    "read_subject",
    "requirements",
]

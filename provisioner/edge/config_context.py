"""What the reading of one value needs to know of the whole configuration file, and how a value is refused.

It alone knows what a refused value is; it must not know how any form is read.
"""

import re
from enum import Enum
from typing import Final

from attrs import frozen

from provisioner.edge.config_fault import Findings, Path
from provisioner.edge.quantities import Complaint
from provisioner.edge.yaml_places import Node

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
NAME_REMEDY: Final = "write at most 40 of a-z, 0-9 and hyphens, with a letter or digit at both ends"


class Refusal(Enum):
    """The one value that stands for a refused one."""

    REFUSED = "refused"


REFUSED: Final = Refusal.REFUSED


@frozen
class Context:
    """What a value may need of the whole file: its folder, where faults go, its currency, its providers' names."""

    folder: str
    findings: Findings
    currency: str
    providers: tuple[str, ...]

    def refuse(self, node: Node, path: Path, complaint: Complaint) -> Refusal:
        """Keep the complaint as a fault at this value."""
        self.findings.add(node.place, path, complaint.sentence, complaint.remedy)
        return REFUSED

    def not_yet(self, node: Node, path: Path, sentence: str, remedy: str) -> Refusal:
        """Keep a fault that says that this version does not obey the value."""
        self.findings.add(node.place, path, sentence, remedy, not_yet=True)
        return REFUSED


def is_name(text: str) -> bool:
    """True if the text is a name as the contract wants it of clusters, providers and consumers."""
    return NAME.fullmatch(text) is not None

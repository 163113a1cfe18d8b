"""`provisioner check`: reads a configuration file as the daemon would, prints every fault, and says what was looked at.

It alone knows what of a configuration can be tried without a daemon; what a fault is, edge/config_file.py knows.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from provisioner.cli.config_text import config_text
from provisioner.cli.exits import CommandEnds, Exit
from provisioner.cli.show import count_text, print_json, print_lines
from provisioner.core.settings import ProviderSettings, Settings
from provisioner.edge.config_file import Faults, read_settings
from provisioner.runtime.credentials import missing_files
from provisioner.runtime.rest_doors import DoorRefused, read_token

Body = dict[str, Any]


def check(config: Path, *, as_json: bool) -> Exit:
    """OK if the daemon would start with this file, as far as that can be seen without starting anything."""
    found = read_settings(_text(config), file=str(config), folder=str(config.absolute().parent))
    faults = found.faults if isinstance(found, Faults) else ()
    obstacles = [] if isinstance(found, Faults) else surroundings(found)
    if as_json:
        fields = ("file", "line", "column", "field", "sentence", "remedy", "not_yet")
        listed = [{name: getattr(fault, name) for name in fields} for fault in faults]
        print_json({"file": str(config), "faults": listed, "obstacles": obstacles, "checked": _checked(found)})
    else:
        for fault in faults:
            # A fault is one whole line, so that editors and grep find its place.
            print(fault)
        print_lines([f"{config}: {obstacle}" for obstacle in obstacles])
        print_lines([_verdict(config, len(faults) + len(obstacles)), *_checked(found)])
    return Exit.NO if faults or obstacles else Exit.OK


def _text(config: Path) -> str:
    try:
        return config_text(config)
    except UnicodeDecodeError as error:
        raise CommandEnds(Exit.NO, f"{config} is no text in UTF-8 (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        why = (error.strerror or "unknown reason").lower()
        raise CommandEnds(Exit.USAGE, f"{config} can't be read: {why}; name another file") from None


def surroundings(settings: Settings) -> list[str]:
    """What the file names and this machine lacks, a sentence each."""
    found = []
    folder = Path(settings.controller.path).absolute().parent
    why = _folder_lacks(folder)
    if why is not None:
        found.append(f"controller.sqlite: {why}")
    if settings.listen.socket is not None:
        socket_folder = Path(settings.listen.socket).absolute().parent
        # The daemon makes the folder of its facts, and that one alone.
        if socket_folder != folder and not os.path.isdir(socket_folder):
            found.append(f"listen.socket: the folder {socket_folder} does not exist; make it")
    if settings.listen.http is not None:
        try:
            read_token(Path(settings.listen.http.token_file))
        except DoorRefused as refusal:
            found.append(f"listen.http.token_file: {refusal}")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    for provider in settings.providers.values():
        found += _around_provider(provider, path)
    return found


def _folder_lacks(folder: Path) -> str | None:
    """Why the daemon could not keep its facts in a folder; it makes the folder itself, but none above it."""
    if os.path.isdir(folder):
        return None
    if os.path.lexists(folder):
        return f"{folder} is no folder; name another place"
    if not os.path.isdir(folder.parent):
        return f"the folder {folder.parent} does not exist; make it"
    if not os.access(folder.parent, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        return f"the folder {folder} can't be made in {folder.parent}; make it, or let this user write there"
    return None


def _around_provider(provider: ProviderSettings, path: str) -> list[str]:
    found = []
    if shutil.which(provider.command[0], path=path) is None:
        found.append(f"command: the program {provider.command[0]} is not found; install it")
    missing = [v for v in provider.credentials.env if v not in os.environ]
    if missing:
        found.append(f"credentials.env: {', '.join(missing)} not set here; set them for the daemon")
    why = missing_files(provider.credentials.file, os.environ)
    if why is not None:
        found.append(f"credentials.file: {why}")
    return [f"providers.{provider.name}.{obstacle}" for obstacle in found]


def _verdict(config: Path, count: int) -> str:
    if not count:
        return f"{config}: no fault was found"
    return f"{config}: {count} fault{'s' if count > 1 else ''}; the daemon would not start as it should"


def _checked(found: Settings | Faults) -> list[str]:
    if isinstance(found, Faults):
        return ["checked: form, names and values; folders, tokens and programs wait until these are right"]
    names, count = ", ".join(found.providers), count_text(len(found.providers), "provider")
    return [
        f"checked: form, names and values; folders, the token and the programs of {count} ({names}) on this machine",
        "not checked: whether the providers accept their own configuration and reach their far side",
    ]

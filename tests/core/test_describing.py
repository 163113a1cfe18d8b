"""When a description is read whole, and when only for what has changed: changes are asked of the process that named the
revision, and of no other."""

from provisioner.core.effects import OpenProvider, ReadDescription, StartProcess
from provisioner.core.events import Described, ProcessSpawned, ProviderOpened, ReadFailed, Refusal
from provisioner.core.model import Problem
from tests.core.play import HOST, TRUSTED, Play, settings_for


def opened(*capabilities: str) -> tuple[Play, ReadDescription]:
    """A provider that has just been opened with these capabilities, and the first reading."""
    play = Play(settings_for("east"))
    open_next(play, *capabilities)
    return play, play.take(ReadDescription)


def open_next(play: Play, *capabilities: str) -> None:
    """The process that is owed is started and opened."""
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    opening = play.take(OpenProvider)
    said = ("p", "1", ("host",), capabilities, TRUSTED, "0123456789abcdef")
    play.event(ProviderOpened(opening.key, "east", start.number, *said))


def answered(play: Play, read: ReadDescription, revision: str) -> None:
    """A reading that names this revision."""
    play.event(Described(read.key, "east", read.number, revision, f"d-{revision}", (HOST,), ()))


def next_reading(play: Play) -> ReadDescription:
    """The reading after the usual pause."""
    play.pass_s(301)
    return play.take(ReadDescription)


def test_ds_2_a_process_is_asked_for_everything_first_and_then_for_what_has_changed_since() -> None:
    play, read = opened("describe.delta")
    assert read.known is None
    answered(play, read, "r1")
    read = next_reading(play)
    assert read.known == "r1"
    answered(play, read, "r2")
    assert next_reading(play).known == "r2"


def test_gr_3_without_the_capability_everything_is_asked_for_each_time() -> None:
    play, read = opened()
    answered(play, read, "r1")
    assert next_reading(play).known is None


def test_ds_2_after_a_reading_that_failed_everything_is_asked_for_and_what_is_held_stays() -> None:
    play, read = opened("describe.delta")
    answered(play, read, "r1")
    held = play.world.descriptions["east"]
    read = next_reading(play)
    refusal = Refusal(Problem("internal", detail="it can't be applied"), not_made=False)
    play.event(ReadFailed(read.key, "east", read.number, "description", refusal))
    assert play.world.descriptions["east"] == held
    assert next_reading(play).known is None


def test_ds_2_another_process_may_give_the_same_name_to_something_else_so_it_is_asked_for_everything() -> None:
    play, read = opened("describe.delta")
    answered(play, read, "r1")
    play.process_ends("east")
    play.pass_s(5)
    open_next(play, "describe.delta")
    assert play.take(ReadDescription).known is None
    later = play.restarted()
    open_next(later, "describe.delta")
    assert later.take(ReadDescription).known is None


def test_ds_1_a_reading_that_says_the_same_writes_no_fact() -> None:
    play, read = opened("describe.delta")
    answered(play, read, "r1")
    held = play.world.descriptions["east"]
    read = next_reading(play)
    play.event(Described(read.key, "east", read.number, "r1", held.digest, held.templates, held.limits))
    assert play.world.descriptions["east"] is held

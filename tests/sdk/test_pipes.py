"""Streams over real pipes: whole, whatever the pipe holds, and ended like trio's own."""

import os
from pathlib import Path

import pytest
import trio
import trio.testing

from provider_sdk.pipes import PipeInput, PipeOutput, input_stream, output_stream

LARGE = bytes(range(256)) * 4_096


async def test_more_than_a_pipe_holds_comes_out_whole() -> None:
    reading, writing = os.pipe()
    source, sink = input_stream(reading), output_stream(writing)
    assert isinstance(source, PipeInput)
    assert isinstance(sink, PipeOutput)
    assert (source.fileno(), sink.fileno()) == (reading, writing)
    got = bytearray()
    with trio.fail_after(20):
        async with source, trio.open_nursery() as nursery:

            async def write() -> None:
                async with sink:
                    await sink.send_all(LARGE)

            nursery.start_soon(write)
            while data := await source.receive_some():
                got += data
    assert bytes(got) == LARGE


async def test_who_writes_where_nobody_reads_is_told_so() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    async with output_stream(writing) as sink:
        with pytest.raises(trio.BrokenResourceError):
            await sink.send_all(b"x")
    with pytest.raises(trio.ClosedResourceError):
        await sink.send_all(b"x")


async def test_who_reads_a_closed_stream_is_told_so() -> None:
    reading, writing = os.pipe()
    source = input_stream(reading)
    async with trio.open_nursery() as nursery:

        async def read() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await source.receive_some()

        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        await source.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await source.receive_some()
    os.close(writing)


async def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "said"
    path.write_bytes(b"one\n")
    async with input_stream(os.open(path, os.O_RDONLY)) as source:
        assert await source.receive_some() == b"one\n"
        assert await source.receive_some() == b""

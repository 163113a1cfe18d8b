"""Calls of a tool over stdio with the MCP Python SDK, both halves; run by a Python that has the package `mcp`.

With `serve` it is the server. Without, it starts one and, for each line on stdin, calls the tool one call after the
other for so many seconds and writes the microseconds a call and the number of calls. Must not import the product.
"""

import asyncio
import sys
import time

from mcp import Client, StdioServerParameters  # type: ignore[import-not-found]
from mcp.server import MCPServer  # type: ignore[import-not-found]

ANSWER = "a" * 1_000
QUESTION = {"text": "q" * 850}
"""As long as the params of ours."""


def serve() -> None:
    """One tool, as plain and as fast as the SDK offers: text in, text out, no structured result."""
    server = MCPServer("bench", log_level="ERROR")

    @server.tool(structured_output=False)  # type: ignore[untyped-decorator]
    async def status(text: str) -> str:
        return ANSWER

    server.run("stdio")


async def client() -> None:
    """Pieces of calls, as told on stdin."""
    async with Client(StdioServerParameters(command=sys.executable, args=[__file__, "serve"])) as session:
        while line := await asyncio.to_thread(sys.stdin.readline):
            began, calls = time.perf_counter(), 0
            ends = began + float(line)
            while time.perf_counter() < ends:
                found = await session.call_tool("status", QUESTION)
                if found.is_error:
                    sys.exit(f"the tool refused: {found}")
                calls += 1
            sys.stdout.write(f"{(time.perf_counter() - began) / calls * 1e6} {calls}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        asyncio.run(client())

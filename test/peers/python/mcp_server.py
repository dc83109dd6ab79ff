"""A server on the official Python SDK: mcp_server.py stdio | http PORT | sse PORT."""
import sys

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("python-sdk", version="1.0", log_level="ERROR")
cancelled = 0


@server.tool()
def echo(message: str) -> str:
    return message


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


@server.tool()
async def slow(seconds: float, ctx: Context) -> str:
    """Waits, and counts how often it was cancelled."""
    global cancelled
    try:
        for step in range(1, 11):
            await anyio.sleep(seconds / 10)
            await ctx.report_progress(step, 10)
    except anyio.get_cancelled_exc_class():
        cancelled += 1
        raise
    return "done"


@server.tool()
def cancellations() -> int:
    return cancelled


@server.tool()
async def notify(ctx: Context) -> str:
    """Says that the tools have changed."""
    await ctx.notify_tools_changed()  # to subscriptions, which came with 2026-07-28
    if ctx.protocol_version < "2026-07-28":
        await ctx.session.send_tool_list_changed()
    return "sent"


def main() -> None:
    how = sys.argv[1]
    if how == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http" if how == "http" else "sse", port=int(sys.argv[2]))


main()

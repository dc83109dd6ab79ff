"""A server on FastMCP: fastmcp_server.py stdio | http PORT | sse PORT."""
import sys

import anyio
import mcp_types
from fastmcp import Context, FastMCP

server = FastMCP("fastmcp", version="1.0")
cancelled = 0


@server.tool
def echo(message: str) -> str:
    return message


@server.tool
def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


@server.tool
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


@server.tool
def cancellations() -> int:
    return cancelled


@server.tool
async def notify(ctx: Context) -> str:
    """Says that the tools have changed."""
    await ctx.send_notification(mcp_types.ToolListChangedNotification())
    return "sent"


def main() -> None:
    how = sys.argv[1]
    if how == "stdio":
        server.run("stdio", show_banner=False)
    else:
        server.run(how, show_banner=False, port=int(sys.argv[2]), log_level="error")


main()

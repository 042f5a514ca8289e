"""A database that went away and came back: what a process still holds of it is dead, and is given up all at once."""

from django.db import InterfaceError, OperationalError, connection

LOST = ("08", "57P")  # SQLSTATE of a broken connection, and of a server that shuts down or starts


def give_up_after(error: BaseException) -> None:
    """When `error` tells of a lost connection, drop what the pool keeps: each of these would fail a request of its own."""
    pool = getattr(connection, "pool", None)
    if pool and tells_of_loss(error):
        pool.drain()


def tells_of_loss(error: BaseException) -> bool:
    """Whether the connection is gone. A pool that is merely exhausted still has good ones, but none of them is idle."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(LOST)

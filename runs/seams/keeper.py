"""The keeper: a small program between worker and performer that leaves nothing of the performer running, whoever dies first.

It is run by path, `python -I -S keeper.py CONTROL GRACE HOME ARGV…`, and imports as little as it can. Signals to a process group miss
children that call setsid, and a parent-death signal fires when the starting *thread* ends and reaches only the first child. So the keeper
adopts every orphan of its tree (child subreaper), and ends the tree it finds in /proc once the performer ends, the worker asks, or the
worker's end of the control socket closes, which a killed worker cannot prevent.

It answers on the control socket, one line each: `start ERRNO` (nothing ran), `exit CODE` (negative: a signal), `gone COUNT` (how many
were asked to end).
"""

import ctypes
import os
import select
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SIGKILL, SIGPIPE, SIGTERM, SIGSTOP = 9, 13, 15, 19  # Linux numbers: the signal module would double the start-up time
REAP_EVERY_MS = 1000
SWEEP_PAUSE = 0.02

libc = ctypes.CDLL(None)


def say(control: int, word: str, value: int) -> None:
    """Tell the worker, if there still is one."""
    try:  # noqa: SIM105 - contextlib is a slow import
        os.write(control, f"{word} {value}\n".encode())
    except OSError:
        pass


def start(argv: list[str]) -> tuple[int, int]:
    """Start the performer in a session of its own: (pid, 0), or (0, errno) when it cannot be executed."""
    parent = os.getpid()
    failed, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        become(argv, parent, tell)
    os.close(tell)
    error = os.read(failed, 16)
    os.close(failed)
    if error:
        os.waitpid(pid, 0)
        return 0, int(error)
    return pid, 0


def become(argv: list[str], parent: int, tell: int) -> None:
    """In the new child: turn into the performer. Never returns."""
    try:
        os.setsid()
        libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        libc.signal(SIGPIPE, None)
        if os.getppid() == parent:
            os.execvp(argv[0], argv)
    except OSError as error:
        os.write(tell, str(error.errno).encode())
    finally:
        os._exit(127)


def let_go_of_streams() -> None:
    """Close our copies of the performer's pipes, or the worker would never read their end."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def reap(codes: dict[int, int]) -> bool:
    """Collect who ended, into `codes`; False once there are no children at all."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not pid:
            return True
        codes[pid] = os.waitstatus_to_exitcode(status)


def watch(control: int, pid: int, codes: dict[int, int]) -> bytes | None:
    """Wait for the performer (None) or for a word of the worker: `e` = end it, nothing = the worker is dead."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(os.pidfd_open(pid), select.POLLIN)
    while pid not in codes:
        ready = [fd for fd, _ in poll.poll(REAP_EVERY_MS)]
        reap(codes)
        if control in ready and pid not in codes:
            return os.read(control, 1)
    return None


def parent_of(pid: str) -> int:
    """The parent of a process that still runs; 0 for one that is gone or only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return 0
    state, parent = stat[stat.rindex(b")") + 2 :].split(b" ", 2)[:2]
    return 0 if state in b"ZX" else int(parent)


def descendants() -> list[int]:
    """Everything below us that still runs, parents first."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            below.setdefault(parent_of(name), []).append(int(name))
    found = [os.getpid()]
    for pid in found:
        found += below.get(pid, [])
    return found[1:]


def send(pids: list[int], number: int) -> None:
    """Signal each of `pids`; one that has ended meanwhile is no error."""
    for pid in pids:
        try:  # noqa: SIM105
            os.kill(pid, number)
        except OSError:
            pass


def kill_all() -> None:
    """Freeze until no new process appears, then kill: a frozen process cannot fork its way past us."""
    frozen: set[int] = set()
    while fresh := [pid for pid in descendants() if pid not in frozen]:
        send(fresh, SIGSTOP)
        frozen.update(fresh)
    send(list(frozen), SIGKILL)


def end_tree(grace: float, codes: dict[int, int]) -> int:
    """Ask everything below us to end, kill what has not after `grace` seconds; the number of processes asked."""
    kill_at = time.monotonic() + grace
    asked: set[int] = set()
    while reap(codes):
        fresh = [pid for pid in descendants() if pid not in asked]
        send(fresh, SIGTERM)
        asked.update(fresh)
        if time.monotonic() >= kill_at:
            kill_all()
        time.sleep(SWEEP_PAUSE)
    return len(asked)


def main(control: int, grace: float, home: str, argv: list[str]) -> None:
    """Run `argv` to its end, then see that nothing of it is left."""
    os.set_inheritable(control, False)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pid, error = start(argv)
    let_go_of_streams()
    if error:
        say(control, "start", error)
        return
    codes: dict[int, int] = {}
    word = watch(control, pid, codes)
    if pid in codes:
        say(control, "exit", codes[pid])
    say(control, "gone", end_tree(grace, codes))
    if word == b"":
        import shutil  # only a dead worker leaves its directory to us, and the import is slow

        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:])

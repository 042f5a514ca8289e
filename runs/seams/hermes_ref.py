"""The ref of a run at a Hermes Agent: all that a later claim must know, in one short text `run@deadline~troubled since`."""

import math
import re
from dataclasses import dataclass, replace

WRITTEN = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.:-]{0,199})?@(\d{1,12})(?:~(\d{1,12}))?")
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")


@dataclass(frozen=True, slots=True)
class Ref:
    """`run_id` is the agent's, "" until it is known; `deadline` and `troubled` are epoch seconds, `troubled` 0 while all is well."""

    run_id: str
    deadline: float
    troubled: float = 0

    @classmethod
    def read(cls, text: str) -> "Ref | None":
        """The ref that was written; None for anything else, such as another performer's."""
        found = WRITTEN.fullmatch(text)
        return cls(found[1] or "", int(found[2]), int(found[3] or 0)) if found else None

    def __str__(self) -> str:
        trouble = f"~{math.floor(self.troubled)}" if self.troubled else ""
        return f"{self.run_id}@{math.ceil(self.deadline)}{trouble}"

    def named(self, run_id: str) -> "Ref":
        """The same with the run that was started."""
        return replace(self, run_id=run_id, troubled=0)

    def well(self) -> "Ref":
        """The same, all trouble over."""
        return replace(self, troubled=0)

    def in_trouble(self, now: float) -> "Ref":
        """The same, in trouble since now or longer."""
        return replace(self, troubled=self.troubled or now)

"""A run and its rows. Events are the truth; the rest are projections that the journal writes in the same commit."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from hermes_workflow.fields import JSONText


def new_run_id() -> str:
    """128 random bits in hex."""
    return uuid.uuid4().hex


class Run(models.Model):
    """One execution of a design's version."""

    class Status(models.TextChoices):
        """Where a run stands."""

        RUNNING = "running", "Running"
        AWAITING_APPROVAL = "awaiting_approval", "Needs approval"
        AWAITING_AGENT = "awaiting_agent", "Needs agent"
        WAITING = "waiting", "Waiting"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    id = models.CharField(max_length=32, primary_key=True, default=new_run_id)
    workflow_id = models.CharField(max_length=128, null=True, unique=True)
    design = models.ForeignKey("hermes_workflow.Design", on_delete=models.PROTECT, related_name="runs")
    version = models.ForeignKey("hermes_workflow.DesignVersion", on_delete=models.PROTECT, related_name="runs")
    profile = models.ForeignKey("hermes_workflow.Profile", on_delete=models.PROTECT, related_name="runs")
    plan = models.ForeignKey("hermes_workflow.Plan", on_delete=models.PROTECT, related_name="+")
    origin = models.CharField(max_length=16)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="runs")
    start_key = models.CharField(max_length=255, null=True)
    start_digest = models.CharField(max_length=71, blank=True)
    schedule = models.ForeignKey("hermes_workflow.Schedule", on_delete=models.SET_NULL, null=True, related_name="runs")
    slot = models.DateTimeField(null=True)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="children")
    status = models.CharField(max_length=20, choices=Status, default=Status.RUNNING)
    seq = models.PositiveIntegerField(default=0)
    cursor = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    error = JSONText(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["started_by", "start_key"], name="run_start_key_once"),
            models.UniqueConstraint(fields=["start_key"], condition=Q(started_by=None), name="run_start_key_of_nobody"),
            models.UniqueConstraint(fields=["schedule", "slot"], name="run_slot_once"),
        ]
        indexes = [
            models.Index(fields=["profile", "-created_at", "-id"], name="run_by_profile"),
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="run_due"),
            models.Index(fields=["schedule"], condition=Q(schedule__isnull=False, ended_at=None), name="run_of_schedule_open"),
        ]

    def __str__(self) -> str:
        return self.id


class Event(models.Model):
    """One fact of a run. `data` is small and folded; `body` is the only copy of an output and is never folded."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveIntegerField()
    v = models.PositiveSmallIntegerField(default=1)
    type = models.CharField(max_length=32)
    key = models.CharField(max_length=160, blank=True)
    at = models.DateTimeField()
    data = JSONText(default=dict)
    body = JSONText(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="event_seq_once")]

    def __str__(self) -> str:
        return f"{self.run_id}#{self.seq} {self.type}"


class Attempt(models.Model):
    """Work for a machine: the outbox entry, the lease and the state of its outcome in one row."""

    class Status(models.TextChoices):
        """Where an attempt stands."""

        READY = "ready", "Ready"
        LEASED = "leased", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    key = models.CharField(max_length=160)
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=16)
    payload = JSONText(default=dict)
    ref = models.CharField(max_length=255, blank=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.READY)
    fence = models.PositiveIntegerField(default=0)
    claims = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=100, blank=True)
    ready_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "key", "number"], name="attempt_number_once")]
        indexes = [
            models.Index(fields=["ready_at"], condition=Q(status="ready"), name="attempt_ready"),
            models.Index(fields=["lease_until"], condition=Q(status="leased"), name="attempt_leased"),
            models.Index(fields=["ended_at"], condition=Q(status="cancelled") & ~Q(ref=""), name="attempt_to_stop"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}:{self.key}:{self.number}"


class Gate(models.Model):
    """A question that waits for a person, or for the chat agent (`kind` agent)."""

    class Kind(models.TextChoices):
        """What is asked for."""

        APPROVAL = "approval", "Approval"
        INPUT = "input", "Input"
        AGENT = "agent", "Agent step"

    class Status(models.TextChoices):
        """Where a gate stands."""

        OPEN = "open", "Open"
        ANSWERED = "answered", "Answered"
        EXPIRED = "expired", "Expired"
        CLOSED = "closed", "Closed"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="gates", db_index=False)
    profile = models.ForeignKey("hermes_workflow.Profile", on_delete=models.PROTECT, related_name="+", db_index=False)
    key = models.CharField(max_length=160)
    round = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=Kind)
    question = models.TextField()
    options = JSONText(default=list)
    rules = JSONText(default=dict, help_text="assignees, escalate_to, stop_on, relay, on_timeout as the design gives them")
    context = JSONText(default=dict)
    digest = models.CharField(max_length=71)
    quorum = models.PositiveSmallIntegerField(default=1)
    votes = JSONText(default=list)
    waiting_since = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    on_timeout = models.CharField(max_length=16, blank=True)
    escalated_at = models.DateTimeField(null=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.OPEN)
    answer = models.TextField(blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "key", "round"], name="gate_round_once")]
        indexes = [
            models.Index(fields=["profile", "waiting_since", "id"], condition=Q(status="open"), name="gate_open_by_profile"),
            models.Index(fields=["waiting_since", "id"], condition=Q(status="open"), name="gate_open_since"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}:{self.key}:{self.round}"


class GateAudience(models.Model):
    """Who is asked: `user:5`, `group:3`, or `profile:2` for any reviewer of it. An inbox page is a scan per audience."""

    gate = models.ForeignKey(Gate, on_delete=models.CASCADE, related_name="audiences")
    audience = models.CharField(max_length=32)
    waiting_since = models.DateTimeField()
    open = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["gate", "audience"], name="audience_once")]
        indexes = [
            models.Index(fields=["audience", "waiting_since", "gate"], condition=Q(open=True), name="audience_open"),
        ]

    def __str__(self) -> str:
        return f"{self.audience} -> {self.gate_id}"


class Delivery(models.Model):
    """The receipt of one send attempt."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="deliveries")
    key = models.CharField(max_length=160)
    number = models.PositiveIntegerField()
    target = models.CharField(max_length=255)
    ok = models.BooleanField()
    detail = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [models.UniqueConstraint(fields=["run", "key", "number", "target"], name="receipt_once")]

    def __str__(self) -> str:
        return f"{self.run_id}:{self.key}:{self.number} {self.target}"


class Notice(models.Model):
    """A line in a user's bell, about a run or a schedule. `source` names what sent it, so that sending twice adds nothing."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="notices")
    schedule = models.ForeignKey("hermes_workflow.Schedule", on_delete=models.CASCADE, null=True, related_name="notices")
    source = models.CharField(max_length=255)
    title = models.CharField(max_length=300)
    text = models.TextField(blank=True)
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "source"], name="notice_once")]
        indexes = [
            models.Index(fields=["user", "-created_at"], name="notice_by_user"),
            models.Index(fields=["user"], condition=Q(read_at=None), name="notice_unread"),
        ]

    def __str__(self) -> str:
        return self.title


class Session(models.Model):
    """The transcript of an agent attempt."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="session")
    profile = models.CharField(max_length=64)
    model = models.CharField(max_length=200, blank=True)
    external_id = models.CharField(max_length=255, blank=True)
    usage = JSONText(default=dict)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"session of {self.attempt}"


class Message(models.Model):
    """One message of a transcript. `role` is user, assistant or error."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages", db_index=False)
    number = models.PositiveIntegerField()
    role = models.CharField(max_length=16)
    content = models.TextField()
    at = models.DateTimeField()

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="message_number_once")]

    def __str__(self) -> str:
        return f"{self.role}: {self.content[:40]}"


class Beacon(models.Model):
    """When a part of the installation was last known to work: `pulse`, `workers`."""

    name = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%H:%M:%S}"

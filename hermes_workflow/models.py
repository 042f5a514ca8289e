"""Designs, who performs them, and who may use them."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken

from hermes_workflow.fields import JSONText


class Profile(models.Model):
    """A group of people and the performer that does their agent steps."""

    class Performer(models.TextChoices):
        """How an agent step of this profile is done."""

        NONE = "none", _("Nobody: the step waits for the chat agent")
        SUBPROCESS = "subprocess", _("A program on this machine")
        OPENAI = "openai", _("An OpenAI-compatible endpoint")
        HERMES = "hermes", _("A Hermes Agent")

    name = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=128, blank=True)
    performer = models.CharField(max_length=32, choices=Performer, default=Performer.NONE)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="profiles", blank=True)
    settings = JSONText(default=dict, blank=True, help_text=_("What the performer needs; secrets by the names of environment variables."))
    model = models.CharField(max_length=128, blank=True)
    catalogue = JSONText(default=list, blank=True, help_text=_("The models that steps may choose from."))
    timeout_minutes = models.PositiveSmallIntegerField(null=True, blank=True, help_text=_("For steps that name none."))
    allow_model_override = models.BooleanField(default=False)
    is_open = models.BooleanField(default=False, help_text=_("Every signed-in user is a member."))

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Design(models.Model):
    """A workflow under a name; its versions hold the documents."""

    class Dialect(models.TextChoices):
        """The ways to describe a workflow."""

        DESIGN = "design", _("Hermes Workflow graph")
        CANVAS = "canvas", _("Canvas workflow")
        SOP = "sop", _("workflow.yaml")
        PYTHON = "python", _("Python workflow")

    slug = models.CharField(_("name"), max_length=64)
    title = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    dialect = models.CharField(max_length=16, choices=Dialect, default=Dialect.DESIGN)
    profile = models.ForeignKey(Profile, on_delete=models.PROTECT, related_name="designs")
    workspace = models.CharField(max_length=1024, blank=True)
    separate_duties = models.BooleanField(default=False, help_text=_("Who starts a run, or saved its version, may not answer its gates."))
    current = models.ForeignKey("DesignVersion", on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ("slug",)
        constraints = [
            models.UniqueConstraint(fields=["slug"], condition=Q(deleted_at=None), name="design_slug_once"),
        ]

    def __str__(self) -> str:
        return self.slug


class DesignVersion(models.Model):
    """One saved document of a design; never changed."""

    design = models.ForeignKey(Design, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    document = JSONText()
    viewport = JSONText(null=True, blank=True)
    digest = models.CharField(max_length=71)
    plan = models.ForeignKey("Plan", on_delete=models.PROTECT, related_name="versions")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    note = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["design", "number"], name="version_number_once")]

    def __str__(self) -> str:
        return f"{self.design.slug} v{self.number}"


class Plan(models.Model):
    """A compiled program, stored once by the digest of its body and shared by runs."""

    digest = models.CharField(max_length=71, primary_key=True)
    format = models.PositiveSmallIntegerField()
    body = JSONText()

    def __str__(self) -> str:
        return self.digest


class Schedule(models.Model):
    """When runs of a design start by themselves. `problem` says why it is quarantined: it starts nothing until somebody mends it."""

    class Overlap(models.TextChoices):
        """What happens to a slot while an earlier run of the schedule has not ended."""

        SKIP = "skip", _("Skip the slot")
        QUEUE = "queue", _("Start when the earlier run has ended")
        ALLOW = "allow", _("Start beside it")

    class CatchUp(models.TextChoices):
        """What happens to slots that passed while nothing could start them."""

        NONE = "none", _("None of them")
        ONE = "one", _("The latest")
        ALL = "all", _("Each of them")

    design = models.ForeignKey(Design, on_delete=models.CASCADE, related_name="schedules")
    node_id = models.CharField(max_length=128, blank=True, help_text=_("The trigger node it follows; empty when it was made by hand."))
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="schedules")
    cron = models.CharField(max_length=100)
    timezone = models.CharField(max_length=64, default="UTC")
    input = JSONText(default=dict, blank=True)
    overlap = models.CharField(max_length=8, choices=Overlap, default=Overlap.SKIP)
    catch_up = models.CharField(max_length=8, choices=CatchUp, default=CatchUp.ONE)
    enabled = models.BooleanField(default=True)
    may_send = models.BooleanField(default=False, help_text=_("Its runs may deliver to channels."))
    next_at = models.DateTimeField(null=True)
    last_slot = models.DateTimeField(null=True)
    problem = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("design__slug", "id")
        constraints = [
            models.UniqueConstraint(fields=["design", "node_id"], condition=~Q(node_id=""), name="schedule_of_node_once"),
        ]
        indexes = [models.Index(fields=["next_at"], condition=Q(enabled=True, problem="", next_at__isnull=False), name="schedule_due")]

    def __str__(self) -> str:
        return f"{self.design.slug}: {self.cron} {self.timezone}"


class Hook(models.Model):
    """An address where a signed call starts a run of a design."""

    design = models.ForeignKey(Design, on_delete=models.CASCADE, related_name="hooks")
    node_id = models.CharField(max_length=128)
    slug = models.SlugField(max_length=64, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="hooks")
    secret_env = models.CharField(max_length=128, help_text=_("The environment variable that holds its secret."))
    enabled = models.BooleanField(default=True)
    may_send = models.BooleanField(default=False, help_text=_("Its runs may deliver to channels."))
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug


class Channel(models.Model):
    """A platform that results can be delivered to, and which chats there are allowed."""

    class Kind(models.TextChoices):
        """How it is reached."""

        APPRISE = "apprise", _("Apprise")
        HERMES = "hermes", _("A webhook of a Hermes Agent")

    platform = models.SlugField(max_length=64, unique=True)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.APPRISE)
    url = models.CharField(max_length=1000, help_text=_("With {chat_id}, {thread}, and {env:NAME} for each secret."))
    secret_env = models.CharField(max_length=128, blank=True, help_text=_("The environment variable with a webhook's secret."))
    chats = JSONText(default=list, blank=True, help_text=_("The allowed chat ids; an empty list allows every one."))
    enabled = models.BooleanField(default=True)

    class Meta:
        ordering = ("platform",)

    def __str__(self) -> str:
        return self.platform


class Attachment(models.Model):
    """The uploaded text file that a run was started on, as it came."""

    sha256 = models.CharField(max_length=64, unique=True)
    filename = models.CharField(max_length=255)
    media_type = models.CharField(max_length=100)
    content = models.BinaryField()
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.filename


class Token(AbstractAuthToken):
    """An API token: stored as a hash, shown once. A bot's token relays and performs but never decides."""

    name = models.CharField(max_length=100, blank=True)
    bot = models.BooleanField(default=False)
    scopes = JSONText(default=list)

    def __str__(self) -> str:
        return self.name or self.token_key


class Preference(models.Model):
    """How a user wants pages shown."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preference")
    timezone = models.CharField(max_length=64, default="UTC")

    def __str__(self) -> str:
        return f"{self.user}: {self.timezone}"

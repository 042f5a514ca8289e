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

    name = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=128, blank=True)
    performer = models.CharField(max_length=32, choices=Performer, default=Performer.NONE)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="profiles", blank=True)
    settings = JSONText(default=dict, blank=True, help_text=_("For a program: argv, and limits."))
    model = models.CharField(max_length=128, blank=True)
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

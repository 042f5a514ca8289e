"""People in the admin: users, and groups, of which six are the roles."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from hermes_workflow.admin.access import AdminsOnly
from hermes_workflow.rights import ADMIN, BOT, DESIGNER, OPERATOR, REVIEWER, ROLES, VIEWER

ROLE_WORDS = {
    ADMIN: "All of it, in every profile, and the administration",
    DESIGNER: "Saves and deletes designs, starts runs",
    OPERATOR: "Starts, retries and cancels runs",
    REVIEWER: "Answers gates",
    VIEWER: "Reads",
    BOT: "Acts by its token, within its scopes; relays what people decide, never decides",
}
IN_PROFILES = "Roles count within the profiles that a person belongs to; a group that is no role can be asked as an assignee."

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class PersonAdmin(auth_admin.UserAdmin, AdminsOnly):
    """People are switched off, not deleted: what they decided stays theirs."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "full_name", "roles", "is_active", "last_login")
    list_filter = ("groups", "is_active")
    search_fields = ("username", "first_name", "last_name", "email")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password", "is_active")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("Roles", {"fields": ("groups", "is_superuser"), "description": IN_PROFILES}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")

    def get_queryset(self, request: HttpRequest) -> Any:
        """With the groups, which every row names."""
        return super().get_queryset(request).prefetch_related("groups")

    @display(description="Name")
    def full_name(self, user: User) -> str:
        """First and last name."""
        return user.get_full_name()

    @display(description="Roles and groups")
    def roles(self, user: User) -> str:
        """The names of the groups; a superuser first of all is one."""
        names = [group.name for group in user.groups.all()]
        return ", ".join((["superuser"] if user.is_superuser else []) + names)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Admins; superusers are changed by superusers only."""
        return super().has_change_permission(request, obj) and _may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: a person who leaves is switched off."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Nobody makes themselves or others more than they are, or locks themselves out."""
        locked = () if getattr(request.user, "is_superuser", False) else ("is_superuser",)
        own = ("is_active", "is_superuser", "groups") if obj is not None and obj.pk == request.user.pk else ()
        return (*self.readonly_fields, *dict.fromkeys((*locked, *own)))

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Who has the administration has Django's flag for it too."""
        super().save_related(request, form, formsets, change)
        user = form.instance
        user.is_staff = user.is_superuser or user.groups.filter(name__in=(ADMIN, DESIGNER)).exists()
        user.save(update_fields=["is_staff"])


def _may_touch(request: HttpRequest, obj: Any) -> bool:
    return bool(getattr(request.user, "is_superuser", False)) or not getattr(obj, "is_superuser", False)


@admin.register(Group)
class GroupAdmin(AdminsOnly):
    """Six groups are roles and stay; any other group can be an assignee of gates."""

    list_display = ("name", "role", "people")
    search_fields = ("name",)
    fields = ("name", "role", "people")
    readonly_fields = ("role", "people")

    def get_queryset(self, request: HttpRequest) -> Any:
        """With the people."""
        return super().get_queryset(request).prefetch_related("user_set")

    @display(description="May")
    def role(self, group: Group) -> str:
        """What the role may do."""
        return ROLE_WORDS.get(group.name, "No role: a group to ask")

    @display(description="People")
    def people(self, group: Group) -> str:
        """The first of them; they are chosen at each user."""
        names = [user.get_username() for user in group.user_set.all()[:50]] if group.pk else []
        return ", ".join(names)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """A role keeps its name."""
        return ("name", *self.readonly_fields) if obj is not None and obj.name in ROLES else self.readonly_fields

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not a role."""
        return super().has_delete_permission(request, obj) and obj is not None and obj.name not in ROLES

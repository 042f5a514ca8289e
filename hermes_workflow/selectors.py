"""Reading designs: what a principal may see of them."""

from django.db.models import QuerySet

from hermes_workflow.core.errors import NotFound
from hermes_workflow.models import Design, DesignVersion
from hermes_workflow.rights import Principal


def designs_for(principal: Principal) -> QuerySet[Design]:
    """The designs of the principal's profiles, by name."""
    if not principal.may("read"):
        return Design.objects.none()
    return Design.objects.filter(deleted_at=None, profile_id__in=principal.profile_ids).select_related("profile", "current")


def design_for(principal: Principal, name: str) -> Design:
    """One design. Raises NotFound, also for one that the principal may not see."""
    found = designs_for(principal).filter(slug=name).first()
    if found is None:
        raise NotFound("there is no such design")
    return found


def versions_of(design: Design) -> QuerySet[DesignVersion]:
    """All versions, newest first."""
    return design.versions.select_related("author").order_by("-number")

"""Changing one's own password."""

from typing import Any

from django.contrib.auth.views import PasswordChangeView
from django.contrib.messages.views import SuccessMessageMixin
from django.http import HttpResponse
from django.urls import reverse_lazy

from hermes_workflow.pages import page


class ChangePassword(SuccessMessageMixin, PasswordChangeView):
    """Django's own: this session goes on, all others of the person end."""

    template_name = "account/password.html"
    success_url = reverse_lazy("account")
    success_message = "Your password is changed. You are signed out everywhere else."

    def form_invalid(self, form: Any) -> HttpResponse:
        """Each fault beside its field."""
        return self.render_to_response(self.get_context_data(form=form), status=400)


change_password = page(ChangePassword.as_view())

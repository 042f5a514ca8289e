"""The addresses of pages."""

from django.contrib.auth.views import LogoutView
from django.urls import path, re_path

from approvals import views as gates
from hermes_workflow.views import account, bell, designs, password, schedules, search, sign_in, status
from runs import views as runs

ID = r"(?P<{}>[0-9]{{1,18}})"
GATE = ID.format("gate_id")
SCHEDULE = ID.format("schedule_id")
RUN = r"(?P<run_id>[a-f0-9]{6,32})"
NAME = r"(?P<name>[a-z0-9][a-z0-9_.-]{0,63})"

urlpatterns = [
    path("", gates.inbox, name="home"),
    path("inbox/", gates.inbox, name="inbox"),
    re_path(rf"^inbox/{GATE}/$", gates.gate, name="gate"),
    re_path(rf"^inbox/{GATE}/answer/$", gates.answer, name="answer"),
    path("counts/", gates.counts, name="counts"),
    path("runs/", runs.runs, name="runs"),
    re_path(rf"^runs/{RUN}/$", runs.run, name="run"),
    re_path(rf"^runs/{RUN}/retry/$", runs.retry, name="run-retry"),
    re_path(rf"^runs/{RUN}/cancel/$", runs.cancel, name="run-cancel"),
    re_path(rf"^runs/{RUN}/resend/$", runs.resend, name="run-resend"),
    re_path(rf"^runs/{RUN}/answer/{GATE}/$", runs.answer, name="run-answer"),
    path("sessions/", runs.sessions, name="sessions"),
    re_path(rf"^sessions/{ID.format('session_id')}/$", runs.session, name="session"),
    path("designs/", designs.designs, name="designs"),
    re_path(rf"^designs/{NAME}/$", designs.design, name="design"),
    re_path(rf"^designs/{NAME}/run/$", designs.start, name="design-run"),
    path("schedules/", schedules.listed, name="schedules"),
    path("schedules/new/", schedules.new, name="schedule-new"),
    path("schedules/times/", schedules.times, name="schedule-times"),
    re_path(rf"^schedules/{SCHEDULE}/$", schedules.one, name="schedule"),
    re_path(rf"^schedules/{SCHEDULE}/pause/$", schedules.pause, name="schedule-pause"),
    re_path(rf"^schedules/{SCHEDULE}/resume/$", schedules.resume, name="schedule-resume"),
    re_path(rf"^schedules/{SCHEDULE}/delete/$", schedules.delete, name="schedule-delete"),
    path("account/", account.account, name="account"),
    path("account/password/", password.change_password, name="account-password"),
    path("account/timezone/", account.timezone, name="account-timezone"),
    path("account/tokens/", account.create_token, name="token-create"),
    re_path(r"^account/tokens/(?P<token_id>[A-Za-z0-9_-]{1,64})/revoke/$", account.revoke_token, name="token-revoke"),
    path("account/link/", account.link, name="account-link"),
    path("account/chat/", account.chat_accounts, name="chat-accounts"),
    path("account/chat/code/", account.create_code, name="chat-code"),
    re_path(rf"^account/chat/{ID.format('identity_id')}/remove/$", account.unlink, name="account-unlink"),
    path("notices/", bell.notices, name="notices"),
    path("notices/read/", bell.read, name="notices-read"),
    re_path(rf"^notices/{ID.format('notice_id')}/open/$", bell.opened, name="notice-open"),
    path("status/", status.status, name="status"),
    path("search/", search.search, name="search"),
    path("login/", sign_in.SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]

"""Every address under `/api/`, with its slash and without."""

from django.urls import re_path

from approvals import api as approvals
from hermes_workflow.api import designs, people, schedules, schema
from hermes_workflow.api.chat import doors as chat
from hermes_workflow.api.tools import doors as tools
from hermes_workflow.http.endpoint import route
from hermes_workflow.http.errors import no_such_address
from runs.api import hooks, reading, starting, steering

urlpatterns = [
    *route("schema/", schema.Schema, "api-schema"),
    *route("docs/", schema.Docs, "api-docs"),
    *route("designs/", designs.Designs, "api-designs"),
    *route("designs/validate/", designs.Validate, "api-designs-validate"),
    *route("designs/<str:name>/", designs.OneDesign, "api-design"),
    *route("designs/<str:name>/versions/", designs.Versions, "api-design-versions"),
    *route("designs/<str:name>/run/", starting.Start, "api-design-run"),
    *route("runs/", reading.Runs, "api-runs"),
    *route("runs/<str:run_id>/", reading.OneRun, "api-run"),
    *route("runs/<str:run_id>/events/", reading.Events, "api-run-events"),
    *route("runs/<str:run_id>/receipt/", reading.Receipt, "api-run-receipt"),
    *route("runs/<str:run_id>/sessions/", reading.Sessions, "api-run-sessions"),
    *route("runs/<str:run_id>/outputs/<path:node_id>/", reading.Output, "api-run-output"),
    *route("runs/<str:run_id>/respond/", approvals.Respond, "api-run-respond"),
    *route("runs/<str:run_id>/retry/", steering.Retry, "api-run-retry"),
    *route("runs/<str:run_id>/cancel/", steering.Cancel, "api-run-cancel"),
    *route("runs/<str:run_id>/deliveries/<path:node_id>/resend/", steering.Resend, "api-run-resend"),
    *route("runs/<str:run_id>/signal/", steering.Signal, "api-run-signal"),
    *route("gates/", approvals.Gates, "api-gates"),
    *route("gates/<str:gate_id>/", approvals.OneGate, "api-gate"),
    *route("gates/<str:gate_id>/answer/", approvals.Answer, "api-gate-answer"),
    *route("schedules/", schedules.Schedules, "api-schedules"),
    *route("schedules/<str:schedule_id>/", schedules.OneSchedule, "api-schedule"),
    *route("profiles/", people.Profiles, "api-profiles"),
    *route("models/", people.Models, "api-models"),
    *route("hooks/<str:slug>/", hooks.Hook, "api-hook"),
    *route("tokens/", people.Tokens, "api-tokens"),
    *route("tokens/<str:token_id>/", people.OneToken, "api-token"),
    *route("chat/command/", chat.CommandDoor, "api-chat-command"),
    *route("tools/", tools.Tools, "api-tools"),
    *route("tools/<str:name>/", tools.OneTool, "api-tool"),
    re_path("", no_such_address),
]

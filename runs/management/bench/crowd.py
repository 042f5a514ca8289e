"""A crowd of open gates, inserted by the database itself."""

from django.contrib.auth.models import Group, User
from django.db import connection

from runs.models import Run

GATES = """
    INSERT INTO runs_gate (run_id, profile_id, key, round, kind, question, options, rules, context, digest, quorum, votes,
                           waiting_since, due_at, on_timeout, escalated_at, status, answer, ended_at)
    SELECT %s, %s, 'crowd' || n, 1, 'approval', 'Go on?', '["approve","reject"]', '{}', '{}', 'sha256:0', 1, '[]',
           {moment}, NULL, '', NULL, 'open', '', NULL
    FROM {series}"""
AUDIENCES = """
    INSERT INTO runs_gateaudience (gate_id, audience, waiting_since, open)
    SELECT id, CASE id %% 10 WHEN 0 THEN %s WHEN 1 THEN %s WHEN 2 THEN 'group:0' WHEN 3 THEN 'user:0' ELSE %s END, waiting_since, {true}
    FROM runs_gate WHERE status = 'open' AND id NOT IN (SELECT gate_id FROM runs_gateaudience)"""

SQLITE = {
    "series": "(WITH RECURSIVE s(n) AS (SELECT %s + 1 UNION ALL SELECT n + 1 FROM s WHERE n < %s) SELECT n FROM s)",
    "moment": "datetime('2026-01-01', '+' || n || ' seconds')",
    "true": "1",
}
POSTGRESQL = {
    "series": "(SELECT generate_series(%s + 1, %s) AS n) s",
    "moment": "timestamptz '2026-01-01' + n * interval '1 second'",
    "true": "true",
}


def crowd(run: Run, user: User, *, first: int, last: int) -> None:
    """Open gates from number `first` + 1 to `last`: four in five ask the user, by name, by group or as a reviewer of the profile."""
    dialect = SQLITE if connection.vendor == "sqlite" else POSTGRESQL
    group = Group.objects.get(name="legal")
    with connection.cursor() as cursor:
        cursor.execute(
            GATES.replace("{moment}", dialect["moment"]).replace("{series}", dialect["series"]), [run.pk, run.profile_id, first, last]
        )
        cursor.execute(AUDIENCES.replace("{true}", dialect["true"]), [f"user:{user.pk}", f"group:{group.pk}", f"profile:{run.profile_id}"])
        cursor.execute("ANALYZE")

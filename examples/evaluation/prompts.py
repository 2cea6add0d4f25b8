"""The prompt that is evaluated: it asks which team a mail belongs to."""

from promptdsl import Output, Section, System, Table, Timeline, User, Value

TEAMS = [
    {"team": "billing", "handles": "invoices, refunds, payment methods"},
    {"team": "access", "handles": "passwords, two-factor codes, locked accounts"},
    {"team": "shipping", "handles": "late, lost and damaged parcels"},
    {"team": "other", "handles": "everything else"},
]
SCHEMA = {
    "type": "object",
    "properties": {
        "team": {"type": "string", "enum": [team["team"] for team in TEAMS]},
        "urgent": {"type": "boolean"},
    },
    "required": ["team", "urgent"],
    "additionalProperties": False,
}


def triage(subject: str, body: str) -> Timeline:
    """Return the prompt that sorts a mail; its parameters are columns of the table."""
    with Timeline() as timeline:
        Output(SCHEMA, name="assignment")
        with System():
            Section("role", "You sort the mail of customers. Assign each to one team.")
            Section("teams", Table(TEAMS), title="Teams")
        with User():
            Section("subject", Value(subject), title="Subject")
            Section("mail", Value(body), title="Mail")
    return timeline

"""The prompt of the benchmark over rows: values, a section, a table, a tool; about 300 tokens."""

from promptdsl import Section, System, Table, Text, Timeline, Tool, User

TEAMS = [
    {"team": "billing", "handles": "invoices, refunds, payment methods"},
    {"team": "access", "handles": "passwords, two-factor codes, locked accounts"},
    {"team": "shipping", "handles": "late, lost and damaged parcels"},
]


def assign(team: str, priority: int, reason: str) -> None:
    """Assign the mail to a team.

    Args:
        team: the name of the team
        priority: from 1, which waits, to 5, which is urgent
        reason: one sentence
    """


def triage(*, customer: str, plan: str, subject: str, body: str, orders: int) -> Timeline:
    """Return the prompt that sorts a customer's mail."""
    with Timeline() as timeline:
        with System():
            Section("role", "You sort the mail of customers. Assign each to one team, once.")
            with Section("rules", title="Rules"):
                Text("Never answer the customer. Mail about two matters goes to the first team.")
                Text("A customer of the plan ", plan, " waits at most a day.")
            with Section("teams", title="Teams"):
                Table(TEAMS)
        Tool(assign)
        with User():
            with Section("customer", title="Customer"):
                Text("Name: ", customer, ", orders: ", orders)
            with Section("mail", title="Mail"):
                Text("Subject: ", subject)
                Text(body)
    return timeline


def row(number: int) -> dict[str, object]:
    """Return a row; all rows differ."""
    return {
        "customer": f"Customer {number}",
        "plan": ("free", "pro", "team")[number % 3],
        "subject": f"Order {number * 7919 % 1_000_003} has not arrived",
        "body": f"I ordered {number % 9 + 1} chairs on day {number % 28 + 1} and wait since. "
        "The page says that the parcel is on its way, but nobody rings. What can I do? "
        "If it does not come until Friday I want my money back.",
        "orders": number % 40,
    }

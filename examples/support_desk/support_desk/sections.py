"""The sections that several prompts share. Each rule is written only in this file."""

from promptdsl import Item, List, Section, Text, Value, component


@component
def role(task: str) -> None:
    """Say who the model is, and what it does in this prompt."""
    Section("role", "You work at the support desk of TechCorp. ", task)


@component
def rules(language: str) -> None:
    """State the rules for everything that a customer reads."""
    with Section("rules", title="Rules"):
        with List():
            Item("Never promise a refund. Open a case for the billing team.")
            Item("Never ask for a password or a card number.")
            Item("If you do not know, say so.")
        tone(language)


@component
def tone(language: str) -> None:
    """Say in which tone and language the model answers."""
    with Section("tone", title="Tone"):
        Text("Be kind and brief: at most three sentences, in ", Value(language), ".")


@component
def escalation(team: str) -> None:
    """Say when a person takes over."""
    with Section("escalation", title="Escalation"):
        Text("Hand the ticket to the ", team, " team:")
        List("when the customer asks for a person,", "when a charge is older than a year.")


@component
def tools_guide() -> None:
    """Say which tool to use when; the tools describe themselves."""
    with Section("tool_use", title="Tools"):
        Text("Call find_charges before you name an amount, and open_case at most once.")

"""The settings of a render, and the facts about models and providers.

``models.py`` finds the facts about a model; ``model_facts.py`` explains each fact.
``transformation.py`` merges the settings. ``wire.py`` explains the record of a provider's requests,
``records.py`` has the record of each provider, and ``wires.py`` finds it by a name.
``chat_template.py`` has the chat template of an open model.
"""

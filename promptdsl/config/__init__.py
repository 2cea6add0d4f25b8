"""The settings of a render, and the facts about models and providers.

``models.py`` finds the facts about a model; ``model_facts.py`` explains each fact.
``transformation.py`` merges the settings. ``wire.py`` explains the record of a provider's requests,
and ``records.py`` has the record of each provider.
"""

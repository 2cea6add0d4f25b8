"""The settings of a render, and the facts about models and providers.

``models.py`` finds the facts about a model, ``transformation.py`` merges the settings, ``wire.py``
describes the requests of a provider, and ``records.py`` has the record of each.
"""

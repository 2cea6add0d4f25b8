"""The pytest plug-in: loaded by every run of pytest, so it imports nothing before it is used."""

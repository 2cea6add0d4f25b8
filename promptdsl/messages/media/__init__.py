"""Attachments: what their bytes are, reading them, and how large a picture is."""

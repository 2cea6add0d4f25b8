"""Attachments: reading them, their media type, and the size of a picture."""

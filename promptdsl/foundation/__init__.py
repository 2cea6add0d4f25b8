"""The ground: errors, source lines, escaping, JSON, files. It knows nothing of prompts."""

"""What all other packages use: errors, source lines, escaping, JSON, files; nothing of prompts."""

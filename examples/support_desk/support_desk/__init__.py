"""The prompts of a support desk: sections that they share, tools, and three prompts."""

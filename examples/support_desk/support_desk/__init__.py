"""The prompts of a support desk: shared sections, tools, and three prompts."""

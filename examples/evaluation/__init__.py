"""An evaluation of a prompt: see its README."""

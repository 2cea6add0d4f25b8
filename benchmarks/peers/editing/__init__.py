"""Libraries that clear what tools returned."""

"""A chat as a service: several workers, one database, and replies that are shown as they come."""

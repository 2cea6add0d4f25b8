"""A chat as a service: several workers, one database, and streamed replies."""

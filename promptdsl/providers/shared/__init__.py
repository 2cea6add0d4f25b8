"""What the adapters share: a request while it is being written, and checks of what is read."""

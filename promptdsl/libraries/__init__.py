"""Section libraries: sections and templates under one name, to share, find and override."""

"""The version of promptdsl: declared here, and read by the build."""

__version__ = "0.1.0"

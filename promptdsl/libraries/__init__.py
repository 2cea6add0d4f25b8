"""Section libraries: sections and templates under one name, to share, find and override.

``library.py`` has :class:`Library`; ``template_section.py`` its sections that are templates;
``starter.py`` the library that comes with promptdsl.
"""

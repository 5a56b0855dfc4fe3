"""jitlang's version: pyproject.toml, the command line, archives and cache keys take it from here."""

VERSION = "0.1.0"

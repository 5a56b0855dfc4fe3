"""``python -m jitlang``: the command line."""

from jitlang.cli import main

main()

"""``python -m sfumato``."""

from sfumato.stream.cli import main

main()

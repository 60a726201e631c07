"""``python -m sfumato.stream``."""

from sfumato.stream.cli import main

main()

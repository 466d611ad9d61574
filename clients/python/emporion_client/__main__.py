"""Run the command line: python -m emporion_client."""

from emporion_client.cli import main

main()

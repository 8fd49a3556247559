"""`python -m jaxrate`."""

from jaxrate.cli import main

main()

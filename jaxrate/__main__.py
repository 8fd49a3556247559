"""`jaxrate`, and `python -m jaxrate`."""

import sys


def main() -> None:
    """Run the command; without the packages that it needs, say in one line which extra brings them."""
    try:
        from jaxrate.cli import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        print(f'jaxrate: the command line needs {error.name}: pip install "jaxrate[cli]"', file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()

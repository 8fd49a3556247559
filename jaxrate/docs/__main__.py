"""The command `python -m jaxrate.docs FOLDER`."""

import argparse
import gc
from pathlib import Path

from jaxrate.docs.site_build import write_docs


def main() -> None:
    """Write the documentation of this version, or say what is missing."""
    parser = argparse.ArgumentParser(prog="python -m jaxrate.docs", description="Write the documentation as HTML.")
    parser.add_argument("folder", type=Path, help="will hold the pages")
    gc.disable()  # pages and programs live long; looking through them took a fifth of the time
    try:
        write_docs(parser.parse_args().folder)
    except (ImportError, ValueError, RuntimeError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()

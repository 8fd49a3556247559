"""The `jaxrate` command. Its modules import click and numpy alone: JAX is loaded by the commands that rate."""

import sys
import traceback

import click

from jaxrate.cli import compare, demo, plan, rate, simulate, systems


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="jaxrate")
def cli() -> None:
    """Rate players from a file of results."""


for command in (rate.rate, compare.compare, plan.plan, systems.systems, simulate.simulate, demo.demo):
    cli.add_command(command)


def main() -> None:
    """Run the command: a mistake of the user's is one line on standard error and exit code 2."""
    try:
        cli(prog_name="jaxrate", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message())
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("jaxrate: stopped", err=True)
        sys.exit(130)
    except (click.ClickException, ValueError, ImportError, OSError) as error:
        if {"-v", "--verbose"} & set(sys.argv):
            traceback.print_exc()
        message = error.format_message() if isinstance(error, click.ClickException) else str(error)
        click.echo(f"jaxrate: {message.replace('sort=True', '--sort')}", err=True)
        sys.exit(2)

"""The commands of the command line, one module per command. `all_commands` finds every module in this folder."""

from kgeval.base.discovery import import_modules
from kgeval.cli.command import Command


def all_commands() -> list[Command]:
    """Return the commands of all modules in this folder, in the order in which ``kgeval help`` lists them."""
    commands = [module.COMMAND for module in import_modules(__name__, __path__)]
    return sorted(commands, key=lambda command: command.place)

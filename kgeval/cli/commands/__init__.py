"""The commands: one module each, found by its name in this folder."""

from kgeval.cli.command import Command
from kgeval.discovery import import_modules


def all_commands() -> list[Command]:
    """Return the command of every module here, in the order in which help lists them."""
    commands = [module.COMMAND for module in import_modules(__name__, __path__)]
    return sorted(commands, key=lambda command: command.place)


__all__ = ["all_commands"]

from cyclopts import Argument

from patent_mteb.cli.app import app


def arguments(name: str) -> list[Argument]:
    """The arguments of a command that its help shows."""
    found = app.parse_commands(name.split())[1][-1].assemble_argument_collection(parse_docstring=True)
    return [argument for argument in found if argument.show]

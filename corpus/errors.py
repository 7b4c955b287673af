"""The few errors a person can cause, each one line that says where, what and what to do.

Everything else (a bug of ours) stays a built-in exception and is not caught.
"""

from __future__ import annotations


class AgentreelError(Exception):
    """Bad input or failed work; the command prints `error: <message>` and exits with 1."""


class InputError(AgentreelError):
    """An input that cannot be used: names the file, the place in it, what is wrong and what to do."""

    def __init__(self, where: object, problem: str, hint: str = "") -> None:
        self.where = str(where)
        self.problem = problem
        self.hint = hint
        super().__init__(f"{self.where}: {problem}" + (f"; {hint}" if hint else ""))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        """Exceptions are pickled with their message alone, which is not what makes this one."""
        return type(self), (self.where, self.problem, self.hint)


class OutputExistsError(AgentreelError):
    """An output that is already there and was not to be replaced."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path}: already exists; choose another name or give --force")

"""Groups of commands whose errors name the command to type."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

from penstock.config import pipelines_folder
from penstock.errors import suggestion
from penstock.pipeline.local_pipeline import local_pipelines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PIPELINE_NAME = "NAME"
"""The placeholder for the name of a pipeline, under which its commands are registered."""
_HELP = "--help"


class _OptionOrderGroup(TyperGroup):
    """A group whose error for an option of a command that precedes it has the right order."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options of the group; what remains is a command with its words."""
        options = _leading_options(args, dict(_options_with_values(self)))
        words = args[len(options) :]
        if options and words and not ctx.resilient_parsing:
            ctx.fail(f"Options follow the command: {ctx.command_path} {shlex.join([*words, *options])}")
        rest: list[str] = super().parse_args(ctx, args)
        return rest


class CommandGroup(_OptionOrderGroup):
    """A group whose error for an unknown command has the most similar one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}: {suggestion(args[0], self.list_commands(ctx))}.")
        return super().resolve_command(ctx, args)


class PipelineNameGroup(_OptionOrderGroup):
    """A group that treats every word that is not one of its commands as the name of a pipeline."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return `list`, `show`, or the group of commands for one pipeline."""
        return super().get_command(ctx, cmd_name) or self.commands[PIPELINE_NAME]

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the names of the pipelines of this machine in place of the placeholder."""
        completions = super().shell_complete(ctx, "")
        names = (local.name for local in local_pipelines(pipelines_folder()))
        # The class of completions is that of the click that typer uses.
        own = [type(item)(name) for item in completions if item.value == PIPELINE_NAME for name in names]
        others = [item for item in completions if item.value != PIPELINE_NAME]
        return [item for item in (*others, *own) if item.value.startswith(incomplete)]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Treat `list` and `show` as names of pipelines if a command for a pipeline follows.

        A command before the name is an error with the right order.
        """
        pipeline_group: Any = self.commands[PIPELINE_NAME]
        command, *words = args
        if words and words[0] in pipeline_group.commands:
            return command, pipeline_group, words
        if command in pipeline_group.commands and words[:1] != [_HELP]:
            right_order = _with_name_first(command, words)
            ctx.fail(f"The name of a pipeline precedes the command: {ctx.command_path} {right_order}")
        return super().resolve_command(ctx, args)


def _with_name_first(command: str, words: list[str]) -> str:
    """Return the words of a command line with the name of the pipeline first.

    >>> _with_name_first("info", ["shop", "--json"]), _with_name_first("info", ["--json"])
    ('shop info --json', 'NAME info --json')
    """
    has_name = bool(words) and not words[0].startswith("-")
    name, rest = (words[0], words[1:]) if has_name else (PIPELINE_NAME, words)
    return shlex.join([name, command, *rest])


def _options_with_values(group: Any) -> Iterator[tuple[str, bool]]:
    """Yield the options of the commands in a group, and whether each has a value."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from _options_with_values(command)
        for parameter in command.params:
            yield from ((name, not getattr(parameter, "is_flag", True)) for name in parameter.opts)


def _leading_options(words: list[str], has_value: Mapping[str, bool]) -> list[str]:
    """Return the options before the first other word, with their values; none if one of them is unknown.

    >>> _leading_options(["--json", "--last", "5", "shop", "trace"], {"--json": False, "--last": True})
    ['--json', '--last', '5']
    """
    count = 0
    while count < len(words) and words[count].startswith("-"):
        name, separator, _ = words[count].partition("=")
        if name not in has_value:
            return []
        count += 2 if has_value[name] and not separator else 1
    return words[:count]

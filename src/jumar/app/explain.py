"""`jumar explain`: what a log, an error code, a finding or an environment variable means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.lang import current, t

if TYPE_CHECKING:
    from jumar.machine.explain.names import Topic
    from jumar.machine.explain.result import Explanation
    from jumar.tables.pages import Page


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """Names are files, folders, codes, ids, variables or messages; `-` stands for `stdin`."""

    names: tuple[str, ...]
    stdin: BinaryIO | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """What is known about one name, or about all logs together: exactly one of page, topic and log is there."""

    names: tuple[str, ...]
    page: Page | None = None
    topic: Topic | None = None
    log: Explanation | None = None
    renamed: str = ""
    """The id as it was asked for, where the page has another one now."""
    of_files: bool = False

    @property
    def text(self) -> str:
        """The answer for people."""
        from jumar.core import prose
        from jumar.report import explain
        from jumar.tables import pages

        if self.page is not None:
            address = pages.address(self.page.id, current())
            return f"{prose.shown(self.page.text).rstrip()}\n\n{t(f'page: {address}')}"
        if self.topic is not None:
            return "\n".join(explain.about(self.topic))
        assert self.log is not None
        return "\n".join(explain.text(self.log))

    def to_json(self) -> dict[str, Any]:
        """The fields of this answer."""
        from jumar.report import explain
        from jumar.tables import pages

        if self.page is not None:
            id_, name, area, text = self.page
            return {"id": id_, "name": name, "area": area, "page": text, "address": pages.address(id_)}
        if self.topic is not None:
            return explain.topic_json(self.topic)
        assert self.log is not None
        return explain.as_json(self.log)

    def __repr__(self) -> str:
        return f"<Answer {', '.join(self.names)}>"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ExplainResult:
    """The answers in the order of the names; all logs share the last one."""

    answers: tuple[Answer, ...]

    @property
    def is_error(self) -> bool:
        """Does a log hold an error, known or not?"""
        return any(answer.of_files and answer.log is not None and answer.log.has_error for answer in self.answers)

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json

        found = [answer.to_json() for answer in self.answers]
        return json.document(found[0] if len(found) == 1 else {"answers": found})

    def __str__(self) -> str:
        return "\n".join(answer.text for answer in self.answers)


def explain(request: ExplainRequest) -> ExplainResult:
    """Explain every name; several logs are one job, such as the logs of its ranks."""
    return ExplainResult(tuple(answers(request)))


def answers(request: ExplainRequest) -> Iterator[Answer]:
    """The same one after the other, so that the first can be shown before the last is read."""
    logs: list[str] = []
    for name in request.names:
        found = None if name == "-" else _name(name)
        if found is None:
            logs.append(name)
        else:
            yield found
    if logs:
        yield _logs(logs, request.stdin)


def _name(name: str) -> Answer | None:
    """Explain a name; None where it is a file."""
    from jumar.machine.explain import log, names

    page, renamed = _page(name)
    if page is not None:
        return Answer((name,), page=page, renamed=renamed)
    topic = names.topic(name)
    if topic is not None:
        return Answer((name,), topic=topic)
    if Path(name).exists():
        return None
    if " " in name.strip():
        return Answer((name,), log=log.explain_text([name], "message"))
    raise _not_known(name)


def _page(name: str) -> tuple[Page | None, str]:
    """The page of an id or name, and the id that was asked for if it has become another."""
    from jumar.tables import pages

    known = pages.pages()
    by_name = {page.name: page.id for page in known.values()}
    asked = name.upper() if name.upper() in known or name.upper() in pages.renamed() else by_name.get(name.lower(), "")
    current = pages.renamed().get(asked, asked)
    return known.get(current), asked if current != asked else ""


def _logs(names: Sequence[str], stdin: BinaryIO | None) -> Answer:
    from jumar.machine.explain import log
    from jumar.machine.explain.source import Source

    if names.count("-") > 1:
        raise UserError("`-` can be given only once")
    if "-" in names and stdin is None:
        raise UserError("`-` needs a stream to read", "name a file")
    sources: list[str | Path | Source] = [Source("-", stdin) if name == "-" and stdin else name for name in names]
    return Answer(tuple(names), log=log.explain(sources), of_files=True)


def _not_known(name: str) -> UserError:
    from jumar.core.nearest import did_you_mean
    from jumar.machine.explain import names
    from jumar.tables import pages

    known = pages.pages()
    near = [*known, *(page.name for page in known.values()), *names.known()]
    folder = Path(name).parent
    if folder.is_dir():
        near += [str(folder / item.name) if "/" in name else item.name for item in folder.iterdir()]
    hint = "give a log file, a code such as 507015 or EI0006, a finding's id, or a variable; `-` reads stdin"
    return UserError(f"no such file, code, finding or variable: `{name}`", did_you_mean(name, near, hint))

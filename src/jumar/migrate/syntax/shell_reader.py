"""Reads shell text into commands; enough of POSIX sh and bash to find, not to run.

Reading never fails: what it does not understand becomes a word. All spans are offsets into the whole data, so a
stretch of a Dockerfile or of a YAML block can be read in place.
"""

from __future__ import annotations

import re

from jumar.migrate.syntax.shell import Assignment, Command, Heredoc, Reference, Script, Word

_BLANK = re.compile(rb"(?:[ \t\f\r]|\\\r?\n)+")
_PLAIN = re.compile(rb"[^\s\\'\"$`;&|()<>]+")
_COMMENT = re.compile(rb"#[^\r\n]*")
_REDIRECT = re.compile(rb"\d*(?:<<<|<<-?|&>>?|>>|>&|>\||<&|<>|>|<)")
_OPERATOR = re.compile(rb"\r?\n|\|\||\|&|\||&&|;;&?|;&|;|&|\(|\)")
_ASSIGN = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\s]*\])?\+?=")
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(rb"[0-9@*#?!$-]")
_DOUBLE_ESCAPED = b'$`"\\\n'
RESERVED = frozenset({"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "esac", "in"})
MAX_DEPTH = 20


def parse(data: bytes, start: int = 0, end: int | None = None, depth: int = 0) -> Script:
    """The commands of `data[start:end]` by place; nested `$( … )` count as commands of their own."""
    reader = _Reader(data, start, len(data) if end is None else end, Script(), depth)
    reader.commands(b"")
    reader.script.commands.sort(key=lambda command: (command.start, -command.end))
    return reader.script


class _Pending:
    """A command while it is read."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.assignments: list[Assignment] = []
        self.words: list[Word] = []
        self.redirects: list[tuple[str, Word]] = []
        self.heredocs: list[Heredoc] = []

    def __bool__(self) -> bool:
        return bool(self.assignments or self.words or self.redirects)


class _Reader:
    def __init__(self, data: bytes, at: int, end: int, script: Script, depth: int) -> None:
        self.data = data
        self.at = at
        self.end = end
        self.script = script
        self.depth = depth
        self.groups = 0
        self.waiting: list[tuple[bytes, bool, bool, _Pending]] = []
        self.unfinished: list[tuple[_Pending, bool]] = []

    def commands(self, closing: bytes) -> None:
        """Read commands up to `closing` (not consumed) or the end."""
        pending = _Pending(self.at)
        while self.at < self.end:
            blank = _BLANK.match(self.data, self.at, self.end)
            if blank:
                self.at = blank.end()
                continue
            if closing and self.data.startswith(closing, self.at) and not self.groups:
                break
            comment = _COMMENT.match(self.data, self.at, self.end)
            if comment:
                self.script.comments.append(comment.span())
                self.at = comment.end()
                continue
            if self._redirect(pending):
                continue
            operator = _OPERATOR.match(self.data, self.at, self.end)
            if operator:
                self._close(pending, operator.group() in (b"|", b"|&"))
                self.at = operator.end()
                self.groups = max(0, self.groups + (operator.group() == b"(") - (operator.group() == b")"))
                if operator.group().endswith(b"\n"):
                    self._heredocs()
                pending = _Pending(self.at)
                continue
            self._item(pending)
        self._close(pending, False)
        for done, piped in self.unfinished:
            self._emit(done, piped)
        self.unfinished.clear()

    def _close(self, pending: _Pending, piped: bool) -> None:
        if not pending:
            return
        if any(entry[3] is pending for entry in self.waiting):
            self.unfinished.append((pending, piped))
        else:
            self._emit(pending, piped)

    def _emit(self, pending: _Pending, piped: bool) -> None:
        self.script.commands.append(
            Command(
                pending.start,
                pending.end,
                tuple(pending.assignments),
                tuple(pending.words),
                tuple(pending.redirects),
                tuple(pending.heredocs),
                piped,
            )
        )

    def _item(self, pending: _Pending) -> None:
        """One word or assignment of the command."""
        start = self.at
        if not pending:
            pending.start = start
        match = _ASSIGN.match(self.data, self.at, self.end)
        takes_assignments = not pending.words or pending.words[0].text in (
            "export",
            "declare",
            "local",
            "readonly",
            "env",
        )
        if match and takes_assignments:
            name = match.group(1).decode()
            self.at = match.end()
            if self.data.startswith(b"(", self.at):
                value = self._array()
            else:
                value = self.word()
            pending.assignments.append(Assignment(name, start, start + len(match.group(1)), value))
        else:
            word = self.word()
            if not pending.words and not pending.assignments and not word.is_quoted and word.text in RESERVED:
                return
            pending.words.append(word)
        pending.end = self.at

    def _array(self) -> Word:
        """The elements of `( … )` as one command without a name."""
        start = self.at
        self.at += 1
        pending = _Pending(self.at)
        while self.at < self.end and not self.data.startswith(b")", self.at):
            blank = re.compile(rb"(?:\s|\\\r?\n)+").match(self.data, self.at, self.end)
            comment = _COMMENT.match(self.data, self.at, self.end)
            if blank:
                self.at = blank.end()
            elif comment:
                self.script.comments.append(comment.span())
                self.at = comment.end()
            else:
                pending.words.append(self.word(in_array=True))
        pending.end = self.at
        self.at = min(self.at + 1, self.end)
        if pending.words:
            found = Command(pending.words[0].start, pending.end, (), tuple(pending.words), is_array=True)
            self.script.commands.append(found)
        return Word(start, self.at, "", False, True)

    def _redirect(self, pending: _Pending) -> bool:
        match = _REDIRECT.match(self.data, self.at, self.end)
        if match is None or self.data.startswith((b"<(", b">("), self.at):
            return False
        if not pending:
            pending.start = self.at
        operator = match.group().lstrip(b"0123456789")
        self.at = match.end()
        blank = _BLANK.match(self.data, self.at, self.end)
        if blank:
            self.at = blank.end()
        word = self.word()
        pending.redirects.append((operator.decode(), word))
        pending.end = self.at
        if operator in (b"<<", b"<<-") and word.text:
            self.waiting.append((word.text.encode(), operator == b"<<-", word.is_quoted, pending))
        return True

    def _heredocs(self) -> None:
        """The bodies that start on this line."""
        for tag, strips, is_quoted, pending in self.waiting:
            start = self.at
            body_end = self.end
            while self.at < self.end:
                stop = self.data.find(b"\n", self.at, self.end)
                stop = self.end if stop < 0 else stop + 1
                line = self.data[self.at : stop].rstrip(b"\r\n")
                if (line.lstrip(b"\t") if strips else line.strip()) == tag:
                    body_end = self.at
                    self.at = stop
                    break
                self.at = stop
            body = self.data[start:body_end]
            is_literal = is_quoted or not any(char in body for char in (b"$", b"`", b"\\"))
            pending.heredocs.append(Heredoc(start, body_end, is_literal))
            if not is_quoted:
                self._expansions(start, body_end)
        self.waiting.clear()
        for done, piped in self.unfinished:
            self._emit(done, piped)
        self.unfinished.clear()

    def word(self, in_array: bool = False) -> Word:
        """One word from here; always takes at least one byte unless a separator stands here."""
        start = self.at
        parts: list[bytes] = []
        is_quoted = has_expansion = False
        inner: tuple[int, int] | None = None
        while self.at < self.end:
            before = self.at
            plain = _PLAIN.match(self.data, self.at, self.end)
            if plain:
                parts.append(plain.group())
                self.at = plain.end()
                continue
            char = self.data[self.at : self.at + 1]
            if char == b"\\":
                if re.match(rb"\\\r?\n", self.data[self.at : self.at + 3]):
                    break
                parts.append(self.data[self.at + 1 : self.at + 2])
                self.at = min(self.at + 2, self.end)
                is_quoted = True
            elif char == b"'":
                parts.append(self._single())
                is_quoted = True
                inner = (before + 1, self.at - 1) if before == start else None
            elif char == b'"':
                is_quoted = True
                has_expansion |= self._double(parts)
                inner = (before + 1, self.at - 1) if before == start else None
            elif char in (b"$", b"`"):
                has_expansion |= self._expansion(parts)
            elif self.data.startswith((b"<(", b">("), self.at) and self.at == start:
                self.at += 2
                self._nested(b")")
                parts.append(self.data[start : self.at])
                has_expansion = True
            elif in_array and char in b";&|<>(" and char:
                parts.append(char)
                self.at += 1
            else:
                break
        if self.at == start and self.at < self.end and not self._at_separator():
            parts.append(self.data[self.at : self.at + 1])
            self.at += 1
        text = b"".join(parts).decode("utf-8", "replace")
        if inner is not None and (inner[1] + 1 != self.at or inner[1] < inner[0]):
            inner = None
        return Word(start, self.at, text, is_quoted, has_expansion, inner)

    def _at_separator(self) -> bool:
        return bool(_OPERATOR.match(self.data, self.at, self.end) or _BLANK.match(self.data, self.at, self.end))

    def _single(self) -> bytes:
        stop = self.data.find(b"'", self.at + 1, self.end)
        stop = self.end if stop < 0 else stop
        body = self.data[self.at + 1 : stop]
        self.at = min(stop + 1, self.end)
        return body

    def _double(self, parts: list[bytes]) -> bool:
        self.at += 1
        has_expansion = False
        while self.at < self.end:
            char = self.data[self.at : self.at + 1]
            if char == b'"':
                self.at += 1
                break
            if char == b"\\":
                follows = self.data[self.at + 1 : self.at + 2]
                if follows != b"\n" and not self.data.startswith(b"\\\r\n", self.at):
                    parts.append(follows if follows and follows in _DOUBLE_ESCAPED else char + follows)
                    self.at = min(self.at + 2, self.end)
                else:
                    self.at = self.data.index(b"\n", self.at) + 1
            elif char in (b"$", b"`"):
                has_expansion |= self._expansion(parts)
            else:
                parts.append(char)
                self.at += 1
        return has_expansion

    def _expansion(self, parts: list[bytes]) -> bool:
        """`$NAME`, `${…}`, `$( … )`, `$(( … ))` or backquotes; kept as written. False for a lone `$`."""
        start = self.at
        if self.data.startswith(b"`", self.at):
            self.at += 1
            self._nested(b"`")
            parts.append(self.data[start : self.at])
            return True
        if self.data.startswith(b"$'", self.at):
            self.at += 1
            parts.append(self._single())
            return False
        if self.data.startswith(b"$((", self.at):
            self._arithmetic()
        elif self.data.startswith(b"$(", self.at):
            self.at += 2
            self._nested(b")")
        elif self.data.startswith(b"${", self.at):
            self._braces()
        else:
            name = _NAME.match(self.data, self.at + 1, self.end)
            special = _SPECIAL.match(self.data, self.at + 1, self.end)
            if special:
                self.at = special.end()
                parts.append(self.data[start : self.at])
                return True
            if name is None:
                self.at += 1
                parts.append(b"$")
                return False
            self.script.references.append(Reference(name.group().decode(), *name.span()))
            self.at = name.end()
        parts.append(self.data[start : self.at])
        return True

    def _nested(self, closing: bytes) -> None:
        """The commands up to `closing`, which is consumed."""
        stop = self.end
        if closing == b"`" or self.depth >= MAX_DEPTH:
            found = self.data.find(closing, self.at, self.end)
            stop = self.end if found < 0 else found
        if self.depth < MAX_DEPTH:
            reader = _Reader(self.data, self.at, stop, self.script, self.depth + 1)
            reader.commands(closing)
            stop = reader.at
        self.at = min(stop + 1, self.end)

    def _arithmetic(self) -> None:
        depth, at = 0, self.at + 1
        while at < self.end:
            char = self.data[at : at + 1]
            depth += (char == b"(") - (char == b")")
            at += 1
            if depth == 0:
                break
        for name in re.finditer(rb"[A-Za-z_][A-Za-z0-9_]*", self.data[self.at : at]):
            found = name.group().decode()
            self.script.references.append(Reference(found, self.at + name.start(), self.at + name.end()))
        self.at = at

    def _braces(self) -> None:
        name = _NAME.match(self.data, self.at + 2 + (self.data[self.at + 2 : self.at + 3] in (b"#", b"!")), self.end)
        if name:
            self.script.references.append(Reference(name.group().decode(), *name.span()))
        if self.data.startswith(b"${{", self.at):
            # A template of GitHub Actions: it has quotes and braces of its own.
            stop = self.data.find(b"}}", self.at, self.end)
            self.at = self.end if stop < 0 else stop + 2
            return
        depth, at = 0, self.at + 1
        while at < self.end:
            char = self.data[at : at + 1]
            if char == b"\\":
                at += 2
                continue
            if char == b"{" and (at == self.at + 1 or self.data[at - 1 : at] == b"$"):
                depth += 1
            elif char == b"}":
                depth -= 1
            at += 1
            if depth == 0:
                break
        body = name.end() if name else self.at + 2
        self._expansions(body, min(at, self.end))
        self.at = min(at, self.end)

    def _expansions(self, start: int, end: int) -> None:
        """References inside a stretch that is text otherwise."""
        for match in re.finditer(rb"\$\{?([A-Za-z_][A-Za-z0-9_]*)", self.data[start:end]):
            found = match.group(1).decode()
            self.script.references.append(Reference(found, start + match.start(1), start + match.end(1)))

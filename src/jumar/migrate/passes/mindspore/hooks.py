"""What the engine asks about old MindSpore code."""

from __future__ import annotations

from jumar.migrate.rule import Pass

PASS = Pass(
    name="mindspore",
    order=1,
    area="mindspore",
    is_wanted=lambda settings: settings.cloud is None,
    whole_files_only=True,
)

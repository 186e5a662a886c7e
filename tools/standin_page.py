"""The page on what the loopback servers of `jumar cloud` answer and refuse by name, from their own tables."""

from __future__ import annotations

from jumar.cloud.standin import modelarts_server, obs_server
from jumar.tables.load import table

HEAD = """# The stand-in of ModelArts and OBS

{note}
What the loopback servers of [`jumar cloud`](../guides/cloud.md) answer. A request that belongs to no call gets 404, as
on the platform.

## Training calls of ModelArts

Every training call of {source}, below `/v2/{{project_id}}/`. A refused call gets 501
`Jumar.NotImplemented` with its name. A request without a call is part of the REST interface only.

| call | request | stand-in |
| --- | --- | --- |
{calls}

`POST /v3/auth/tokens` gives a token of IAM for the generated key pair.

## Requests of OBS

Buckets and objects are listed, read, written, copied and deleted. These sub-resources are answered:

| of a | method | sub-resources |
| --- | --- | --- |
{answered}

These are refused with 501 `NotImplemented` and their name: {refused}.
"""


def page(note: str) -> str:
    return HEAD.format(
        note=note,
        source=table("modelarts_calls.json")["source"],
        calls="\n".join(_calls()),
        answered="\n".join(_answered()),
        refused=_words(sorted(obs_server.QUESTIONS - _known())),
    )


def _calls() -> list[str]:
    """The answered ones first."""
    answered = {(route.path, route.method) for route in modelarts_server.ROUTES}
    names = {(row["path"], row["method"]): f"`{row['name']}`" for row in table("modelarts_calls.json")["calls"]}
    rows = [(place, "answered") for place in sorted(answered)]
    rows += [(place, "refused") for place in sorted(set(names) - answered)]
    return [f"| {names.get(place, '')} | `{place[1]} {place[0]}` | {said} |" for place, said in rows]


def _answered() -> list[str]:
    places = (("bucket", obs_server.OF_BUCKETS), ("object", obs_server.OF_OBJECTS))
    return [
        f"| {what} | `{method}` | {_words(sorted(names))} |"
        for what, methods in places
        for method, names in methods.items()
    ]


def _known() -> set[str]:
    tables = (obs_server.OF_BUCKETS, obs_server.OF_OBJECTS)
    return {name.lower() for methods in tables for names in methods.values() for name in names}


def _words(names: list[str]) -> str:
    return ", ".join(f"`?{name}`" for name in names)

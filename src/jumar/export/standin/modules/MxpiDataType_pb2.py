"""The stand-in of the vision SDK's messages, made from their table."""

from jumar.export.standin.stream import messages

globals().update(messages.classes())

"""`jumar plan`: which versions fit together on a machine, and the ordered steps that put them there."""

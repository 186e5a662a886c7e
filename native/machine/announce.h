// Says once per process tree, on stderr, that the cards are emulated.
#pragma once

namespace jumar {

// At the first touch of a card. Silent where JUMAR_QUIET=1 asks for it or somebody above has said it (JUMAR_ANNOUNCED).
void announce();

}  // namespace jumar

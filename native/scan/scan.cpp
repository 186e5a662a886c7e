// Finds many literals in a text at once: four bytes at every place are looked up in a small table of bits, and only
// where a literal may begin it is compared. `jumar explain` reads logs of many gigabytes with it
// (src/jumar/machine/explain/native.py). Literals shorter than four bytes are not possible.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kWord = 4;
constexpr unsigned kBits = 16;

std::uint32_t slot(const unsigned char* text) {
  std::uint32_t word = 0;
  std::memcpy(&word, text, kWord);
  return (word * 2654435761U) >> (32 - kBits);
}

struct Machine {
  std::array<std::uint8_t, (1U << kBits) / 8> bits{};  // small enough to stay in the first cache
  std::vector<std::vector<std::uint32_t>> buckets = std::vector<std::vector<std::uint32_t>>(1U << kBits);
  std::vector<std::string> literals;

  bool may_begin(std::uint32_t at) const { return (bits[at >> 3] >> (at & 7)) & 1; }
};

}  // namespace

#define JUMAR_EXPORT extern "C" __attribute__((visibility("default")))

JUMAR_EXPORT void* jumar_scan_new(const char* text, const std::uint32_t* lengths, std::uint32_t count) {
  auto* machine = new Machine;
  for (std::uint32_t number = 0; number < count; ++number) {
    machine->literals.emplace_back(text, lengths[number]);
    const std::uint32_t at = slot(reinterpret_cast<const unsigned char*>(text));
    machine->bits[at >> 3] |= static_cast<std::uint8_t>(1U << (at & 7));
    machine->buckets[at].push_back(number);
    text += lengths[number];
  }
  return machine;
}

// Looks at the text from *done on and sets *done; stops early where the room might not do for one more place.
JUMAR_EXPORT std::size_t jumar_scan_run(const void* handle, const unsigned char* text, std::size_t size,
                                        std::uint64_t* starts, std::uint32_t* numbers, std::size_t room,
                                        std::size_t* done) {
  const auto& machine = *static_cast<const Machine*>(handle);
  std::size_t found = 0;
  std::size_t at = *done;
  for (; at + kWord <= size && found + machine.literals.size() <= room; ++at) {
    const std::uint32_t here = slot(text + at);
    if (!machine.may_begin(here)) continue;
    for (const std::uint32_t number : machine.buckets[here]) {
      const std::string& literal = machine.literals[number];
      if (literal.size() <= size - at && std::memcmp(text + at, literal.data(), literal.size()) == 0) {
        starts[found] = at;
        numbers[found++] = number;
      }
    }
  }
  *done = at + kWord <= size ? at : size;
  return found;
}

JUMAR_EXPORT void jumar_scan_free(void* handle) { delete static_cast<Machine*>(handle); }

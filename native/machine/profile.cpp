#include "machine/profile.h"

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace jumar {
namespace {

const Chip kChips[] = {
#include "socs.inc"
};
constexpr const char* kDefaultChip = "Ascend910B3";
constexpr const char* kDefaultCann = JUMAR_TESTED_CANN;
constexpr int kMaxCards = 64;

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

const Chip* find(const char* name) {
  for (const Chip& chip : kChips)
    if (std::strcmp(chip.name, name) == 0) return &chip;
  return nullptr;
}

// "64G", "21534M", "1048576K" or plain bytes; 0 when it is none of these.
size_t parse_size(const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || number <= 0) return 0;
  double unit = 1;
  switch (std::toupper(static_cast<unsigned char>(*end))) {
    case 'K': unit = 1024.0; break;
    case 'M': unit = 1024.0 * 1024; break;
    case 'G': unit = 1024.0 * 1024 * 1024; break;
    case '\0': break;
    default: return 0;
  }
  return static_cast<size_t>(number * unit);
}

// As on a device: the list ends at the first entry that is not a card or not a plain number, and one that does not
// rise makes no card visible.
std::vector<int> read_visible(int cards) {
  std::vector<int> found;
  const char* list = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int card = 0; card < cards; ++card) found.push_back(card);
    return found;
  }
  while (std::isdigit(static_cast<unsigned char>(*list)) != 0) {
    char* end = nullptr;
    const long card = std::strtol(list, &end, 10);
    if (!found.empty() && card <= found.back()) return {};
    if (card >= cards) break;
    found.push_back(static_cast<int>(card));
    if (*end != ',') break;
    list = end + 1;
  }
  return found;
}

std::atomic<bool> fixed{false};

Profile read() {
  Profile value{};
  const char* name = setting("JUMAR_SOC");
  const Chip* chip = find(name != nullptr ? name : kDefaultChip);
  if (chip == nullptr) {
    value.problem = std::string("JUMAR_SOC=") + name + " is not a known chip";
    chip = find(kDefaultChip);
  }
  value.chip = *chip;
  const char* cards = setting("JUMAR_CARDS");
  value.cards = cards != nullptr ? std::atoi(cards) : 8;
  if (value.cards < 1 || value.cards > kMaxCards) {
    value.problem = std::string("JUMAR_CARDS=") + (cards != nullptr ? cards : "") + " is not between 1 and 64";
    value.cards = 1;
  }
  const char* memory = setting("JUMAR_MEMORY");
  value.memory = memory != nullptr ? parse_size(memory) : static_cast<size_t>(chip->memory_mib) << 20;
  if (value.memory == 0) value.problem = std::string("JUMAR_MEMORY=") + memory + " is not a size such as 32G";
  value.dry = setting("JUMAR_DRY") != nullptr;
  value.cann = setting("JUMAR_CANN") != nullptr ? setting("JUMAR_CANN") : kDefaultCann;
  return value;
}

}  // namespace

const Profile& profile() {
  static const Profile value = read();
  return value;
}

const std::vector<int>& visible() {
  static const std::vector<int> value = read_visible(profile().cards);
  fixed = true;
  return value;
}

size_t visible_count() { return fixed ? visible().size() : read_visible(profile().cards).size(); }

}  // namespace jumar

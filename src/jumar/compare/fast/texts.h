// Texts that are written many times, kept as JSON once, and numbers as JSON.

#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace jumar {

inline void write(std::string& out, std::int64_t value) {
  char room[24];
  out.append(room, std::to_chars(room, room + sizeof room, value).ptr);
}

inline void write(std::string& out, std::string_view text) {
  out += '"';
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[letter >> 4];
      out += digits[letter & 15];
    } else {
      out += letter;
    }
  }
  out += '"';
}

// JSON has no infinity; a whole number keeps its point, so that it is read as a float again.
inline void write(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "\"nan\"" : value < 0 ? "\"-inf\"" : "\"inf\"";
    return;
  }
  char room[32];
  const std::string_view digits(room, std::to_chars(room, room + sizeof room, value).ptr - room);
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

inline void write(std::string& out, c10::IntArrayRef values) {
  out += '[';
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (at) out += ',';
    write(out, values[at]);
  }
  out += ']';
}

// As Python writes a type; C++ has other names for the older ones, and capitals in the newer ones.
inline std::string python_name(std::string_view name) {
  constexpr std::pair<std::string_view, const char*> kOlder[] = {
      {"Byte", "uint8"},          {"Char", "int8"},           {"Short", "int16"},
      {"Int", "int32"},           {"Long", "int64"},          {"Half", "float16"},
      {"Float", "float32"},       {"Double", "float64"},      {"ComplexHalf", "complex32"},
      {"ComplexFloat", "complex64"}, {"ComplexDouble", "complex128"},
  };
  for (const auto& [older, made] : kOlder)
    if (older == name) return made;
  std::string lower(name);
  for (char& one : lower) one = static_cast<char>(std::tolower(static_cast<unsigned char>(one)));
  return lower;
}

inline const std::string& name_of(c10::ScalarType type) {
  static const auto names = [] {
    std::vector<std::string> made;
    for (int at = 0; at <= static_cast<int>(c10::ScalarType::Undefined); ++at)
      made.push_back(python_name(c10::toString(static_cast<c10::ScalarType>(at))));
    return made;
  }();
  return names[static_cast<std::size_t>(type)];
}

class Texts {
 public:
  Texts() { id(""); }

  int id(std::string_view text) {
    const auto [found, is_new] = known_.try_emplace(std::string(text), static_cast<int>(json_.size()));
    if (is_new) {
      write(json_.emplace_back(), text);
      plain_.emplace_back(text);
    }
    return found->second;
  }

  const std::string& json(int id) const { return json_[id]; }
  const std::string& plain(int id) const { return plain_[id]; }

 private:
  std::unordered_map<std::string, int> known_;
  std::vector<std::string> json_, plain_;
};

}  // namespace jumar

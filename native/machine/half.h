// The two 16-bit floating-point formats, as bits that convert to and from float.
#pragma once
#include <cstdint>
#include <cstring>

namespace jumar {

inline float from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct Bfloat16 {
  uint16_t bits;
  explicit operator float() const { return from_bits(static_cast<uint32_t>(bits) << 16); }
  static Bfloat16 from(float value) {
    const uint32_t all = to_bits(value);
    if ((all & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>(all >> 16 | 0x40)};
    return {static_cast<uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16)};
  }
};

struct Float16 {
  uint16_t bits;
  explicit operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) return from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest < 0x400) return from_bits(sign | to_bits(static_cast<float>(rest) * 0x1p-24f));  // subnormal
    return from_bits(sign | ((rest << 13) + 0x38000000));
  }
  static Float16 from(float value) {
    const uint32_t all = to_bits(value), sign = all >> 16 & 0x8000, rest = all & 0x7fffffff;
    if (rest > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00)};
    if (rest >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};
    if (rest < 0x38800000) {
      // Adding 0.5 lets the processor round to the steps of subnormal halves.
      const uint32_t rounded = to_bits(from_bits(rest) + 0.5f) - to_bits(0.5f);
      return {static_cast<uint16_t>(sign | rounded)};
    }
    return {static_cast<uint16_t>(sign | ((rest + 0xfff + (rest >> 13 & 1)) - 0x38000000) >> 13)};
  }
};

}  // namespace jumar

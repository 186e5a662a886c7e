// torch's table of the functions of its interpreter, with two of them exchanged. Which others the table has differs
// from release to release: they are copied as they are, and nothing here names them.

#pragma once

#include <c10/core/TensorImpl.h>
#include <c10/core/impl/PyInterpreter.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace jumar {

class Table {
 public:
  using Torch = c10::impl::PyInterpreterVTable;

  template <class Dispatch, class Detach>
  Table(const Torch* torch, Dispatch dispatch, Detach detach) {
    void** const first = *reinterpret_cast<void** const*>(torch);
    std::memcpy(words_.data(), first - kFront, sizeof words_);
    words_[kFront + slot(&Torch::dispatch)] = reinterpret_cast<void*>(dispatch);
    words_[kFront + slot(&Torch::detach)] = reinterpret_cast<void*>(detach);
    functions_ = words_.data() + kFront;
  }
  Table(const Table&) = delete;

  const Torch* as_torch() const { return reinterpret_cast<const Torch*>(&functions_); }

 private:
  // In front of the functions stand the offset of the object and its type. 2.14 has 36 functions; what follows them in
  // torch's memory is copied too and never called.
  static constexpr std::size_t kFront = 2, kMost = 64;

  // The place of a virtual function, as a pointer to a member holds it (Itanium C++ ABI; Arm keeps its mark elsewhere).
  template <class Member>
  static std::size_t slot(Member member) {
    std::uintptr_t parts[2];
    static_assert(sizeof member == sizeof parts);
    std::memcpy(parts, &member, sizeof parts);
#if defined(__aarch64__)
    return parts[0] / sizeof(void*);
#else
    return (parts[0] - 1) / sizeof(void*);
#endif
  }

  void** functions_;  // the first word of the object that torch sees
  std::array<void*, kFront + kMost> words_;
};

}  // namespace jumar

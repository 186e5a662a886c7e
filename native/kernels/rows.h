// A tensor as one plain row, without a copy where it lies like that in memory already.
#pragma once
#include <type_traits>

#include "kernels/view.h"

namespace jumar::kernels {

template <class T>
bool lies_plain(const View& view, const Dims& as) {
  const int32_t type = std::is_same_v<T, float> ? kFloat : std::is_same_v<T, double> ? kDouble : kInt64;
  return view.type == type && view.dims == as && view.strides == packed_strides(as);
}

// What a kernel reads.
template <class T>
class Read {
 public:
  Read(const View& view, const Dims& as) {
    if (lies_plain<T>(view, as)) {
      data_ = static_cast<const T*>(view.data);
    } else {
      own_ = load<T>(view, as);
      data_ = own_.data();
    }
  }
  explicit Read(const View& view) : Read(view, view.dims) {}
  Read(const Read&) = delete;
  Read& operator=(const Read&) = delete;
  const T* data() const { return data_; }
  const T& operator[](int64_t at) const { return data_[at]; }

 private:
  std::vector<T> own_;
  const T* data_;
};

// What a kernel writes, every element of it; `finish` brings it to its place. The row may be that of an input: a kernel
// may use it where an element depends on the elements at the same place only.
template <class T>
class Written {
 public:
  explicit Written(const View& view) : view_(view), plain_(lies_plain<T>(view, view.dims)) {
    if (!plain_) own_.resize(static_cast<size_t>(count(view.dims)));
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  T* data() { return plain_ ? static_cast<T*>(view_.data) : own_.data(); }
  void finish() {
    if (!plain_) store(view_, own_);
  }

 private:
  View view_;
  bool plain_;
  std::vector<T> own_;
};

}  // namespace jumar::kernels

// Functions of single elements, given as lambdas over double: inputs are broadcast to the shape of the output.
#pragma once
#include "kernels/view.h"
#include "kernels/workers.h"

namespace jumar::kernels {

template <class F, class... Rows>
std::vector<double> mapped(size_t size, F&& f, const Rows&... rows) {
  std::vector<double> values(size);
  share(static_cast<int64_t>(size), kLongRow, [&](int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) values[i] = f(rows[i]...);
  });
  return values;
}

// out = f(x…), element by element.
template <class F, class... Views>
void map(const View& out, F&& f, const Views&... x) {
  store(out, mapped(static_cast<size_t>(count(out.dims)), f, load<double>(x, out.dims)...));
}

// What is left of the values in a tensor of the type and shape of `like`.
inline std::vector<double> rounded(const std::vector<double>& values, const View& like) {
  std::vector<double> room(values.size());  // wide enough for any type
  const View kept{like.type, like.dims, packed_strides(like.dims), room.data()};
  store(kept, values);
  return load<double>(kept);
}

}  // namespace jumar::kernels

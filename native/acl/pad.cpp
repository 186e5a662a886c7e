// aclnnConstantPadNd: torch_npu's all-gather calls it past the dispatcher, to fill messages up to 512 bytes with zeros.
#include <algorithm>
#include <cstring>

#include "acl/nnop.h"
#include "aclnn/call.h"
#include "api.h"
#include "machine/error.h"

using namespace jumar;

namespace {

struct Padding {
  Tensor input, output;
  std::vector<int64_t> before;  // elements in front, by dimension
};

int64_t stride_of(const Tensor& tensor, size_t dim) {
  int64_t stride = 1;
  if (!tensor.strides.empty()) return tensor.strides[dim];
  for (size_t inner = dim + 1; inner < tensor.dims.size(); ++inner) stride *= tensor.dims[inner];
  return stride;
}

void copy_inside(const Padding& padding, size_t dim, const char* from, char* to) {
  const size_t size = element_size(padding.input.type);
  if (dim == padding.input.dims.size()) {
    std::memcpy(to, from, size);
    return;
  }
  const int64_t in = padding.input.dims[dim], out = padding.output.dims[dim], before = padding.before[dim];
  const int64_t step_in = stride_of(padding.input, dim), step_out = stride_of(padding.output, dim);
  for (int64_t at = std::max<int64_t>(0, -before); at < in && at + before < out; ++at)
    copy_inside(padding, dim + 1, from + at * step_in * static_cast<int64_t>(size),
                to + (at + before) * step_out * static_cast<int64_t>(size));
}

void pad_with_zeros(const Padding& padding) {
  const Tensor &in = padding.input, &out = padding.output;
  const auto size = static_cast<int64_t>(element_size(in.type));
  int64_t count = 1;
  for (const int64_t dim : out.dims) count *= dim;
  char* target = static_cast<char*>(out.data) + out.offset * size;
  std::memset(target, 0, static_cast<size_t>(count * size));  // the caller has just allocated it, without gaps
  copy_inside(padding, 0, static_cast<const char*>(in.data) + in.offset * size, target);
}

}  // namespace

int32_t aclnnConstantPadNdGetWorkspaceSize(const void* self, const void* pad, const void* value, void* out,
                                           uint64_t* workspace, void** executor) {
  const auto& amounts = *static_cast<const std::vector<int64_t>*>(pad);
  const auto& scalar = *static_cast<const Scalar*>(value);
  if (std::any_of(scalar.value, scalar.value + sizeof scalar.value, [](uint8_t byte) { return byte != 0; }))
    return refuse("aclnnConstantPadNd with a value other than 0", ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND);
  Padding padding{*static_cast<const Tensor*>(self), *static_cast<const Tensor*>(out), {}};
  padding.before.resize(padding.input.dims.size());
  // Pairs are given from the last dimension on.
  for (size_t pair = 0; pair < amounts.size() / 2 && pair < padding.before.size(); ++pair)
    padding.before[padding.before.size() - 1 - pair] = amounts[2 * pair];
  return aclnn::prepare("aclnnConstantPadNd", workspace, executor, [padding] { pad_with_zeros(padding); });
}

int32_t aclnnConstantPadNd(void*, uint64_t, void* executor, void* stream) {
  return aclnn::execute("aclnnConstantPadNd", executor, stream);
}

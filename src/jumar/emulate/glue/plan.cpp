#include "plan.h"

#include <ATen/core/enum_tag.h>

#include <set>
#include <string>

namespace jumar {
namespace {

// Operators that take tensors of several devices on every backend.
bool mixes_devices(const std::string& name) {
  static const char* const kParts[] = {"copy",   "index", "_foreach", "_fused_",      "pack_padded", "ctc_loss",
                                       "set_",   "pin",   "_amp_",    "repeat_inter", "tensor_split", "where",
                                       "lstm",   "gru",   "rnn"};
  for (const char* part : kParts)
    if (name.find(part) != std::string::npos) return true;
  return false;
}

// The chip multiplies float16 into float32 sums and has single kernels for these losses; the CPU rounds in between.
bool computes_wide(const std::string& name) {
  static const std::set<std::string> kNames = {
      "addbmm",      "addmm",           "addmv",
      "baddbmm",     "cdist",           "binary_cross_entropy_with_logits", "binary_cross_entropy_with_logits_backward",
      "bmm",         "conv_tbc",        "convolution",
      "convolution_backward",           "convolution_backward_overrideable", "convolution_overrideable",
      "dot",         "grid_sampler_2d", "grid_sampler_2d_backward",
      "grid_sampler_3d",                "grid_sampler_3d_backward",
      "inverse",     "linear",          "mm",
      "native_layer_norm",              "native_layer_norm_backward",
      "nll_loss2d_backward",            "nll_loss2d_forward",
      "nll_loss_backward",              "nll_loss_forward",
      "mv",          "native_batch_norm", "native_batch_norm_backward",      "prod",
      "slow_conv3d", "slow_conv_dilated2d", "slow_conv_transpose2d", "slow_conv_transpose3d", "thnn_conv2d",
      "vdot",
  };
  const std::string base = name.substr(name.find("::") + 2);
  const bool interpolates = base.find("upsample_") != std::string::npos && base.find("nearest") == std::string::npos;
  return interpolates || kNames.count(base) != 0;
}

// Class numbers and positions may be int32 on the chip; torch's CPU kernels insist on int64.
bool takes_short_index(const std::string& op, const std::string& argument) {
  static const std::set<std::string> kNames = {
      "multilabel_margin_loss", "multilabel_margin_loss_backward", "multilabel_margin_loss_forward",
      "nll_loss",               "nll_loss2d",                      "nll_loss2d_backward",
      "nll_loss2d_forward",     "nll_loss_backward",               "nll_loss_forward",
      "one_hot",                "put",                             "put_",
  };
  return kNames.count(op.substr(op.find("::") + 2)) != 0 &&
         (argument == "target" || argument == "index" || op == "aten::one_hot");
}

// Changed in place although the schema does not say so.
bool is_running_statistic(const std::string& op, const std::string& argument) {
  return argument.rfind("running_", 0) == 0 && op.find("batch_norm") != std::string::npos &&
         op.find("backward") == std::string::npos;
}

Kind kind_of(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return Kind::kTensor;
    case c10::TypeKind::DeviceObjType:
      return Kind::kDevice;
    case c10::TypeKind::GeneratorType:
      return Kind::kGenerator;
    case c10::TypeKind::OptionalType:
      return kind_of(*type.expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType:
      return kind_of(*type.expectRef<c10::ListType>().getElementType()) == Kind::kTensor ? Kind::kTensors
                                                                                           : Kind::kOther;
    default:
      return Kind::kOther;
  }
}

}  // namespace

Plan make_plan(const c10::OperatorHandle& op) {
  Plan plan;
  for (const auto& argument : op.schema().arguments()) {
    // Lengths of a packed sequence are for the host on every device: the CPU kernel checks that they are.
    const bool for_host = op.operator_name().name == "aten::_pack_padded_sequence" && argument.name() == "lengths";
    const Kind kind = for_host ? Kind::kOther : kind_of(*argument.real_type());
    const bool written = (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) ||
                         is_running_statistic(op.operator_name().name, argument.name());
    plan.arguments.push_back(kind);
    plan.written.push_back(written);
    plan.writes |= written;
    plan.index.push_back(kind == Kind::kTensor && takes_short_index(op.operator_name().name, argument.name()));
    plan.has_index |= plan.index.back() != 0;
    plan.has_generator |= kind == Kind::kGenerator;
  }
  plan.random = plan.has_generator || op.hasTag(at::Tag::nondeterministic_seeded);
  if (op.operator_name().name == "aten::_pack_padded_sequence") plan.host_result = 1;
  plan.wide = computes_wide(op.operator_name().name);
  // The vector unit has no bfloat16; the CPU's kernels round between a product and a sum.
  plan.wide_bfloat16 = op.operator_name().name.rfind("aten::_foreach_", 0) == 0;
  plan.statistics = op.operator_name().name == "aten::native_batch_norm";
  plan.same_device = !mixes_devices(op.operator_name().name);
  return plan;
}

}  // namespace jumar

#include "plan.h"

#include <ATen/core/enum_tag.h>

#include "strict.h"

namespace jumar {
namespace {

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
  const Facts facts = facts_of(op.operator_name());
  Plan plan;
  for (const auto& argument : op.schema().arguments()) {
    const Kind kind = contains(facts.host, argument.name()) ? Kind::kOther : kind_of(*argument.real_type());
    plan.arguments.push_back(kind);
    plan.written.push_back((argument.alias_info() != nullptr && argument.alias_info()->isWrite()) ||
                           contains(facts.written, argument.name()));
    plan.index.push_back(kind == Kind::kTensor && contains(facts.index, argument.name()));
    plan.has_index |= plan.index.back() != 0;
    plan.has_generator |= kind == Kind::kGenerator;
  }
  plan.random = facts.random || plan.has_generator || op.hasTag(at::Tag::nondeterministic_seeded);
  plan.index_result = facts.index_result;
  plan.wide = facts.wide_float16;
  plan.wide_bfloat16 = facts.wide_bfloat16;
  plan.float32_results = facts.float32_results;
  plan.host_results = facts.host_results;
  plan.statistics = facts.statistics;
  plan.same_device = !facts.mixes_devices;
  if (facts.chips != 0 && (facts.chips >> static_cast<int>(emulated_chip()) & 1u) == 0) return plan;
  plan.int32_results = facts.int32_results;
  plan.refused = facts.refused;
  plan.warned = facts.warned;
  plan.refusal = facts.refusal;
  plan.error = facts.error;
  plan.warning = facts.warning;
  plan.source = facts.source;
  return plan;
}

}  // namespace jumar

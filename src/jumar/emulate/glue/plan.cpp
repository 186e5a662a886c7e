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

// What is computed on the CPU is so on every chip; the rest is about those that the row names.
Strictness on_this_chip(const Strictness& all) {
  if (all.chips == 0 || (all.chips >> static_cast<int>(emulated_chip()) & 1u) != 0) return all;
  if (all.on_cpu == 0) return {};
  return {.on_cpu = all.on_cpu, .warning = all.warning, .source = all.source};
}

}  // namespace

Plan make_plan(const c10::OperatorHandle& op) {
  const Facts facts = facts_of(op.operator_name());
  Plan plan;
  for (const auto& argument : op.schema().arguments()) {
    if (!argument.name().empty() && argument.name() == facts.strictness.transposed_unless)
      plan.transposed_unless = static_cast<int>(plan.arguments.size());
    const Kind kind = contains(facts.host, argument.name()) ? Kind::kOther : kind_of(*argument.real_type());
    if (contains(facts.parameters, argument.name())) plan.parameters.push_back(plan.arguments.size());
    plan.arguments.push_back(kind);
    plan.written.push_back((argument.alias_info() != nullptr && argument.alias_info()->isWrite()) ||
                           contains(facts.written, argument.name()));
    plan.index.push_back(kind == Kind::kTensor && contains(facts.index, argument.name()));
    plan.has_index |= plan.index.back() != 0;
    plan.has_generator |= kind == Kind::kGenerator;
  }
  plan.random = facts.random || plan.has_generator || op.hasTag(at::Tag::nondeterministic_seeded);
  plan.computing = facts.computing;
  plan.strictness = on_this_chip(facts.strictness);
  plan.numerics = numerics::facts_of(op);
  return plan;
}

}  // namespace jumar

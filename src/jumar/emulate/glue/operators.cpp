#include "operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <string>

namespace jumar {
namespace {

#include "operators.inc"

constexpr bool by_name(const Facts& left, const Facts& right) { return left.name < right.name; }
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows), by_name));

bool fits(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t at = star; at <= name.size(); ++at)
    if (fits(rest, name.substr(at))) return true;
  return false;
}

void add(Names& all, const Names& more) {
  for (const std::string_view name : more) {
    if (name.empty() || contains(all, name)) continue;
    auto* const place = std::find(all.begin(), all.end(), std::string_view());
    TORCH_CHECK(place != all.end(), "too many arguments in the rows of one operator, the last is ", name);
    *place = name;
  }
}

void add(Computing& all, const Computing& more) {
  all.float32_results |= more.float32_results;
  all.host_results |= more.host_results;
  all.wide_float16 |= more.wide_float16;
  all.wide_bfloat16 |= more.wide_bfloat16;
  all.index_result |= more.index_result;
  all.statistics |= more.statistics;
  all.host_work |= more.host_work;
  all.takes_integers |= more.takes_integers;
  all.mixes_devices |= more.mixes_devices;
}

bool holds(const Facts& row) {
  return row.calls.empty() || c10::Dispatcher::singleton().findSchema({std::string(row.calls), ""}).has_value();
}

// The first row that names a carrier wins: rows come before patterns.
void add(Facts& all, const Facts& row) {
  if (!holds(row)) return;
  if (all.carried == Carried::kDefault) all.carried = row.carried;
  all.keeps_autograd |= row.keeps_autograd;
  add(all.index, row.index);
  add(all.written, row.written);
  add(all.host, row.host);
  add(all.parameters, row.parameters);
  all.random |= row.random;
  add(all.computing, row.computing);
  if (row.strictness.source.empty()) return;
  TORCH_CHECK(all.strictness.source.empty(), "two rows say what torch_npu does: ", all.strictness.source, " and ",
              row.strictness.source);
  all.strictness = row.strictness;
}

void add_named(Facts& all, const std::string& name) {
  const auto* found = std::lower_bound(std::begin(kRows), std::end(kRows), Facts{.name = name}, by_name);
  if (found != std::end(kRows) && found->name == name) add(all, *found);
}

}  // namespace

Facts facts_of(const c10::OperatorName& name) {
  Facts all{};
  add_named(all, name.name);
  add_named(all, name.name + "." + (name.overload_name.empty() ? "default" : name.overload_name));
  for (const Facts& row : kPatterns)
    if (fits(row.name, name.name)) add(all, row);
  return all;
}

bool contains(const Names& names, std::string_view name) {
  return !name.empty() && std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace jumar

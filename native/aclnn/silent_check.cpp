// Operator calls (aclnn) that look for silent errors: the norm of a gradient against what was seen before. Documented in
// cann/ops-math math/silent_check*/docs. What a "jump" is relative to is not written there: here, to the range seen.
// Results: 0 nothing, 1 a fault (L1), 2 a warning (L2).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "aclnn/call.h"
#include "kernels/layout.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

enum Level { kNormal = 0, kFault = 1, kWarning = 2 };

struct Limits {
  double fault, warning;
};

Level judge(double value, const Limits& limits) {
  if (!std::isfinite(value) || value > limits.fault) return kFault;
  return value > limits.warning ? kWarning : kNormal;
}

Level worse(Level a, Level b) { return a == kFault || b == kFault ? kFault : std::max(a, b); }

// `detect` is NPU_ASD_ENABLE: 1 only says it, 2 and 3 stop the training; 3 says each value.
void report(Level level, double value, int32_t detect) {
  char text[128];
  std::snprintf(text, sizeof text, "silent check: %s, value %g",
                level == kFault ? "fault (L1)" : level == kWarning ? "warning (L2)" : "normal", value);
  if (level != kNormal || detect == 3) std::fprintf(stderr, "%s\n", text);
  if (level == kFault && detect != 1) throw Fault(text);
}

void check_jumps(const View& value, const View& seen, const View& step, int32_t least, const Limits& size,
                 const Limits& jump, int32_t detect, const View& result) {
  const double now = load<double>(value).at(0);
  const auto row = load<double>(seen);
  const double before = row.at(0), low = row.at(1), high = row.at(2);
  const int64_t steps = load<int64_t>(step).at(0);
  Level level = judge(now, size);
  if (steps >= least && high > low) level = worse(level, judge(std::fabs(now - before) / (high - low), jump));
  fill(result, level);
  store<double>(seen, steps == 0 ? std::vector<double>(3, now)
                                 : std::vector<double>{now, std::fmin(low, now), std::fmax(high, now)});
  fill(step, static_cast<double>(steps + 1));
  report(level, now, detect);
}

// A moving average, corrected for its start as Adam's are: the limits are multiples of it.
void check_average(const View& value, const View& average, const View& gradient, const View& step, const Limits& times,
                   double beta, int32_t detect, const View& result) {
  const double now = load<double>(value).at(0), mean = load<double>(average).at(0);
  const int64_t steps = load<int64_t>(step).at(0);
  double usual = steps == 0 ? mean : mean / (1 - std::pow(beta, static_cast<double>(steps)));
  if (usual == 0) usual = std::numeric_limits<double>::infinity();  // nothing to compare with yet
  const Level level = judge(now, {usual * times.fault, usual * times.warning});
  fill(result, level);
  if (level == kFault && detect != 1) {
    fill(gradient, 0);
  } else {
    fill(average, mean * beta + now * (1 - beta));
    fill(step, static_cast<double>(steps + 1));
  }
  report(level, now, detect);
}

}  // namespace

OPERATOR(aclnnSilentCheck,
         check_jumps(view(value), view(seen), view(step), least, {fault, warning}, {fault_jump, warning_jump}, detect,
                     view(result)))
OPERATOR(aclnnSilentCheckV2,
         check_average(view(value), view(average), view(gradient), view(step), {fault, warning}, beta, detect,
                       view(result)))

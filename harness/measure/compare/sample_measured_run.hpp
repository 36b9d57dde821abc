#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/compare/run_comparison.hpp"

namespace peakmark {

inline constexpr int kRounds = 9;

/// Builds runs of cases `pad/VARIANT/opencl/n:N`, optionally in rounds.
class MeasuredRun {
 public:
  MeasuredRun() {
    RunContext& context = measured_.run.context;
    context.id = "one";
    context.device = "a device";
    context.driver = "1";
    context.backend = "opencl";
    context.build = "Release";
    context.complete = true;
    measured_.file = "run.json";
  }

  Observation& add(const std::string& variant, Size n, Size peak = 1000) {
    Observation one;
    one.variant = variant;
    one.backend = "opencl";
    one.axes = Parameters({{"n", n}});
    one.case_name = variant + "/opencl/n:" + std::to_string(n);
    one.requested_peak_bytes = one.second_pass_peak_bytes = peak;
    one.setup_bytes = 10;
    one.leaked_bytes = 0;
    one.at_peak = {{"input", "buffer", peak}};
    measured_.run.observations.push_back(std::move(one));
    return measured_.run.observations.back();
  }

  MeasuredRun& rounds(bool two_passes = true,
                      std::optional<std::vector<std::string>> confirmation_pass = std::nullopt) {
    measured_.run.context.rounds =
        Rounds{"job", kRounds, 1, std::nullopt, two_passes, std::move(confirmation_pass)};
    return *this;
  }

  Run& run() { return measured_.run; }
  RunContext& context() { return measured_.run.context; }
  [[nodiscard]] const RunToCompare& get() const { return measured_; }

 private:
  RunToCompare measured_;
};

/// Adds times of the rounds `first` … `first` + 8, within 1 % above `ns`.
inline void time(Observation& one, double ns, int first = 1) {
  for (int round = 0; round < kRounds; ++round) {
    Observation block = one;
    block.gpu_time = summarise_blocks({{ns * (1 + 0.00125 * round)}});
    add_round(one, as_round(block, first + round));
  }
  one.time_source = time_source::device;
}

inline RunComparison compare_sample_variants(const MeasuredRun& measured) {
  return compare_variants(measured.get(), "pad/old", "pad/new");
}

}  // namespace peakmark

#include "measure/runfile/observation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/device_name.hpp"
#include "base/error.hpp"
#include "measure/statistics/rank_statistics.hpp"
#include "measure/sweep/metric_name.hpp"

namespace peakmark {

namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, 6> kOutcomes{{
    {Outcome::ok, "ok"},
    {Outcome::wrong_answer, "wrong_answer"},
    {Outcome::out_of_memory, "out_of_memory"},
    {Outcome::timeout, "timeout"},
    {Outcome::crashed, "crashed"},
    {Outcome::unsupported, "unsupported"},
}};

}  // namespace

std::string_view to_string(Outcome outcome) {
  for (const auto& [value, name] : kOutcomes) {
    if (value == outcome) return name;
  }
  throw std::logic_error("no such outcome");
}

Outcome parse_outcome(std::string_view name) {
  std::string all;
  for (const auto& [value, known] : kOutcomes) {
    if (known == name) return value;
    if (!all.empty()) all += ", ";
    all += known;
  }
  throw UsageError("unknown outcome '" + std::string(name) + "'; the outcomes are " + all);
}

namespace {

constexpr std::string_view kOnDevice = ", on ";

}  // namespace

std::string time_method(const Observation& observation) {
  return fmt::format("{}, {}, {}{}", observation.time_source.value_or("unknown clock"),
                     observation.cache.value_or(std::string(cache_state::hot)),
                     observation.statistic.value_or(std::string(time_statistic::median)),
                     observation.device ? std::string(kOnDevice) + device_key(*observation.device) : "");
}

bool differs_in_device_only(std::string_view one, std::string_view other) {
  return one.substr(0, one.find(kOnDevice)) == other.substr(0, other.find(kOnDevice));
}

std::string new_series_text(Size before, Size version) {
  return fmt::format("version {} → {}: a new series", before, version);
}

GpuTime summarise_blocks(std::vector<std::vector<double>> blocks) {
  std::vector<double> samples;
  for (const auto& block : blocks) samples.insert(samples.end(), block.begin(), block.end());
  GpuTime time;
  time.median_ns = quantile(samples, 0.5);
  time.min_ns = *std::min_element(samples.begin(), samples.end());
  time.max_ns = *std::max_element(samples.begin(), samples.end());
  time.blocks = std::move(blocks);
  return time;
}

bool is_unasked(const Observation& observation) {
  return (observation.estimate && !observation.estimate->is_asked) ||
         std::ranges::any_of(observation.other_estimates,
                             [](const EstimateObservation& one) { return !one.is_asked; });
}

void add_metric(Observation& observation, const std::string& name, double value, std::string_view direction) {
  check_metric_name(name);
  if (!std::isfinite(value))
    throw UsageError(fmt::format("metric '{}' is {}: report a finite number", name, value));
  if (observation.metrics.contains(name))
    throw UsageError(fmt::format("metric '{}' is reported twice: report each metric of a case once", name));
  if (observation.metrics.size() == kMaxMetrics)
    throw UsageError(fmt::format("more than {} metrics of a case: report fewer", kMaxMetrics));
  observation.metrics.emplace(name, value);
  if (!direction.empty()) observation.metric_directions.emplace(name, direction);
}

void ReferenceTimes::add(const ReferenceTime& time) {
  if (time.copy_ns) copy_ns.push_back(*time.copy_ns);
  if (time.copy_bytes) copy_bytes = time.copy_bytes;
  if (time.arithmetic_ns) arithmetic_ns.push_back(*time.arithmetic_ns);
}

ReferenceTime ReferenceTimes::median() const {
  ReferenceTime median;
  if (!copy_ns.empty()) median.copy_ns = quantile(copy_ns, 0.5);
  median.copy_bytes = copy_bytes;
  if (!arithmetic_ns.empty()) median.arithmetic_ns = quantile(arithmetic_ns, 0.5);
  return median;
}

}  // namespace peakmark

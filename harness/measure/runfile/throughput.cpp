#include "measure/runfile/throughput.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace peakmark {
namespace {

constexpr double kNsASecond = 1e9;

std::optional<double> a_second(const std::optional<double>& amount, const std::optional<double>& ns) {
  if (!amount || !ns || !(*amount > 0) || !(*ns > 0)) return std::nullopt;
  return *amount / *ns * kNsASecond;
}

std::optional<double> ratio(const std::optional<double>& value, const std::optional<double>& of) {
  if (!value || !of) return std::nullopt;
  return *value / *of;
}

std::optional<double> as_double(const std::optional<Size>& size) {
  return size ? std::optional<double>(static_cast<double>(*size)) : std::nullopt;
}

}  // namespace

Throughput throughput_of(const Observation& observation, const RunContext& context) {
  std::optional<double> ns;
  if (observation.gpu_time) ns = observation.gpu_time->median_ns;
  return throughput_at(ns, observation, context);
}

Throughput throughput_at(const std::optional<double>& ns, const Observation& observation,
                         const RunContext& context) {
  Throughput throughput;
  throughput.bytes_per_second = a_second(as_double(observation.bytes_moved), ns);
  throughput.share_of_copy = ratio(throughput.bytes_per_second, copy_bandwidth(context));
  throughput.share_of_peak = ratio(throughput.bytes_per_second, peak_bandwidth(context.clocks));
  throughput.flops_per_second = a_second(observation.flops, ns);
  return throughput;
}

std::optional<double> copy_bandwidth(const RunContext& context) {
  return a_second(as_double(context.reference.copy_bytes), context.reference.median().copy_ns);
}

std::optional<double> peak_bandwidth(const Clocks& clocks) {
  if (!clocks.max_memory_mhz || !clocks.memory_bus_bits) return std::nullopt;
  // Factor 2, because NVML's memory clocks are those of double-data-rate memory.
  const double bandwidth =
      2e6 * static_cast<double>(*clocks.max_memory_mhz) * static_cast<double>(*clocks.memory_bus_bits) / 8;
  return bandwidth > 0 ? std::optional<double>(bandwidth) : std::nullopt;
}

std::string gigabytes_text(const std::optional<double>& bytes_per_second) {
  return bytes_per_second ? fmt::format("{:.4g}", *bytes_per_second * 1e-9) : "–";
}

std::string rate_text(const Throughput& throughput) {
  const std::string rate = gigabytes_text(throughput.bytes_per_second);
  return throughput.share_of_copy ? fmt::format("{} ({})", rate, share_text(throughput.share_of_copy)) : rate;
}

std::string time_text(const Observation& observation) {
  if (!observation.gpu_time) return "–";
  const std::string time = format_duration(observation.gpu_time->median_ns);
  return observation.cache == cache_state::cold ? time + " cold" : time;
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}", *share) : "–";
}

}  // namespace peakmark

#pragma once

#include <optional>
#include <string>

#include "measure/runfile/run_file.hpp"

namespace peakmark {

/// The throughput of a case, from its median time. A figure is null if one of its inputs is unknown.
struct Throughput {
  std::optional<double> bytes_per_second;  ///< from `bytes_moved` of a call
  std::optional<double> share_of_copy;     ///< relative to the run's reference copy
  std::optional<double> share_of_peak;     ///< relative to the device's theoretical bandwidth
  std::optional<double> flops_per_second;  ///< for variants that declare their flops

  bool operator==(const Throughput&) const = default;
};

/// Returns the throughput of `gpu_time_ns`. Pure: every figure is computed from other facts of the run file.
Throughput throughput_of(const Observation& observation, const RunContext& context);
/// Returns the throughput for `ns` per call.
Throughput throughput_at(const std::optional<double>& ns, const Observation& observation,
                         const RunContext& context);

/// Returns the bytes per second that the reference copy moves, by the median of its times over the run.
std::optional<double> copy_bandwidth(const RunContext& context);

/// Returns the theoretical bandwidth in bytes per second: twice the highest memory clock times the width of
/// the bus. Null on a CPU, and if NVML does not report one of the two.
std::optional<double> peak_bandwidth(const Clocks& clocks);

/// Writes bytes per second in GB/s (10⁹ bytes), with at most four digits: `1234`, `98.7`; `–` if unknown.
std::string gigabytes_text(const std::optional<double>& bytes_per_second);

/// Writes GB/s and the share of the copy for users: `98.7 (0.97)`, `98.7` without a copy, `–` if unknown.
std::string rate_text(const Throughput& throughput);

/// Writes the median time of a case for users, with the state of the cache if it is cold: `1.5 ms`, `12.3 us
/// cold`; `–` without a time.
std::string time_text(const Observation& observation);

/// Writes a share for users: `0.97`; `–` if unknown.
std::string share_text(const std::optional<double>& share);

}  // namespace peakmark

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runfile/observation.hpp"

namespace peakmark {

/// {"reference_ns": …, "arithmetic_ns": …, "copy_bytes": …}, on one line.
std::string to_json_line(const ReferenceTime& time);

/// Writes lines to the supervisor's descriptor, each with one write where the pipe lets it, so that a worker
/// that dies has left whole lines. A descriptor of −1 swallows them.
class ObservationWriter {
 public:
  explicit ObservationWriter(int descriptor) : descriptor_(descriptor) {}

  /// {"start": NAME, "bytes": …}: from here on, NAME is to blame when this process dies. `bytes` is what the
  /// case needs; null where that is unknown.
  void start(std::string_view case_name, std::optional<Size> bytes = std::nullopt);
  /// {"step": TEXT}: what of that case begins now, as "`verify`".
  void step(std::string_view text);
  void observation(const Observation& observation);
  /// The reference case, timed before or between cases.
  void reference(const ReferenceTime& time);
  /// A line made elsewhere, without its newline. Throws IoError when the supervisor is gone.
  void line(std::string text);

 private:
  int descriptor_;
};

/// One line on a worker's observation descriptor: exactly one of these.
struct WorkerLine {
  std::optional<std::string> start;        ///< `{"start": "<case>", "bytes": …}`
  std::optional<Size> bytes;               ///< what that case needs, where the worker knows
  std::optional<std::string> step;         ///< `{"step": "`verify`"}`: of the case that was started
  std::optional<ReferenceTime> reference;  ///< `{"reference_ns": …, "arithmetic_ns": …}`
  std::optional<Observation> observation;
};

/// ProtocolError when it is none of them.
WorkerLine parse_worker_line(std::string_view line);

}  // namespace peakmark

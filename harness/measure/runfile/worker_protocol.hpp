#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/runfile/observation.hpp"

// The lines that a worker writes to its observation descriptor (docs/formats.md), for both ends.
namespace peakmark {

/// Ensures that this process is killed when its supervisor ends in any way: a worker without one would occupy
/// the device.
void die_with_supervisor();

/// Returns the names of cases in a file, one per line; `-`: on standard input. Throws IoError, and UsageError
/// if there is none.
std::vector<std::string> read_case_names(const std::string& file_name);

/// Returns {"reference_ns": …, "arithmetic_ns": …, "copy_bytes": …} on one line.
std::string to_json_line(const ReferenceTime& time);

/// Writes lines to the supervisor's descriptor, each with one write() if the pipe allows it, so that a worker
/// that crashes leaves whole lines. With a descriptor of −1 it writes nothing.
class ObservationWriter {
 public:
  explicit ObservationWriter(int descriptor) : descriptor_(descriptor) {}

  /// Writes {"start": NAME, "bytes": …}: a crash from here on is attributed to the case NAME. `bytes` is the
  /// memory that the case needs; null if unknown.
  void start(std::string_view case_name, std::optional<Size> bytes = std::nullopt);
  /// Writes {"step": TEXT}: the step of the case that begins now, such as "`verify`".
  void step(std::string_view text);
  /// Writes the result of the case. Estimators that it lists as not asked are asked next; answer() follows
  /// for each.
  void observation(const Observation& observation);
  /// Writes {"answer": …}, the answer of an estimator of that case. A crash between result and answer loses
  /// only this answer.
  void answer(const EstimateObservation& answer);
  /// Writes the reference case, timed before or between cases.
  void reference(const ReferenceTime& time);
  /// Writes any line; `text` has no newline. Throws IoError if the supervisor is gone.
  void line(std::string text);

 private:
  int descriptor_;
};

/// A line that a worker writes to its standard output and error when its timed calls begin and end, so that
/// their output can be distinguished from other output.
struct TimedMark {
  std::string case_name;
  bool begins = false;
};
/// Flushes the worker's output and writes the mark after it.
void write_timed_mark(const TimedMark& mark);
/// Returns the mark at the end of a line, and removes it from the line; nullopt if there is none.
std::optional<TimedMark> take_timed_mark(std::string& line);

/// One line of a worker: exactly one of these members is set, and `bytes` together with `start`.
struct WorkerLine {
  std::optional<std::string> start;  ///< the case that starts
  std::optional<Size> bytes;         ///< the memory that it needs, if the worker knows
  std::optional<std::string> step;   ///< of the started case
  std::optional<ReferenceTime> reference;
  std::optional<Observation> observation;
  std::optional<EstimateObservation>
      answer;  ///< of an estimator that the last observation lists as not asked
};

/// Throws ProtocolError for any other line.
WorkerLine parse_worker_line(std::string_view line);

}  // namespace peakmark

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runfile/observation.hpp"
#include "runfile/reference_times.hpp"

namespace peakmark {

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

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// What an external estimator answered. Unknown is nullopt.
struct ExternalAnswer {
  std::optional<Size> slices;        ///< that fit the available bytes
  std::optional<Size> bytes;         ///< that the slices need
  std::optional<std::string> dtype;  ///< of the output: ours (`f32`) where we have it, else as it was told
  std::vector<Size> output_dimensions;
  std::vector<Size> padding;         ///< slices before and after
  std::optional<std::string> error;  ///< begins with its name: `negative: …`, `no_answer_in_time: …`
};

/// What its process is to be held to.
struct AnswerRules {
  bool by_command = false;    ///< not by our server of Python's, which has shown a dtype to numpy
  bool asked_slices = false;  ///< how many fit was asked too
  Size slices = 0;            ///< whose bytes were asked
};

/// From one line (docs/formats.md). UsageError that begins with the error's name for what is no answer.
ExternalAnswer read_external_answer(const std::string& line, const AnswerRules& rules);

}  // namespace peakmark

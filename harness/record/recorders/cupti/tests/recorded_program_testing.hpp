#pragma once

#include "cli/record_command_testing.hpp"

namespace peakmark {

/// Runs `peakmark record` on programs that call the fake driver, with the fake CUPTI.
class Fakes : public RecordCommand {
 protected:
  /// `variables`: additional ones, as `NAME=value NAME=value`. `cupti`: folder of libcupti, searched before
  /// the driver's.
  Result run(const std::string& program, const std::string& variables = "",
             const std::string& cupti = PEAKMARK_FAKES "/cupti13") const {
    return record("-- " + program,
                  "export LD_LIBRARY_PATH=" + cupti + ":" PEAKMARK_FAKES " " + variables + ";");
  }
};

}  // namespace peakmark

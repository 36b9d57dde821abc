#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "recorders/trouble.hpp"

namespace peakmark {

/// The file in which the recorders tell what keeps them from recording everything ($PEAKMARK_TROUBLE). It
/// goes with this object.
class TroubleFile {
 public:
  /// Beside the recording of that name; where that disk is full already, among the temporary files.
  /// IoError where no file can be written there: the profile could not either.
  explicit TroubleFile(const std::filesystem::path& name);
  TroubleFile(const TroubleFile&) = delete;
  TroubleFile& operator=(const TroubleFile&) = delete;
  ~TroubleFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Empty where there is none. What was left out is no trouble.
  [[nodiscard]] std::string first_line() const;
  /// Why a recorder had to stop writing, as it said; empty where none had to.
  [[nodiscard]] std::string why_stopped() const;
  /// Ranges of NVTX that were left out, and are called almost as phases of a suite.
  [[nodiscard]] std::vector<std::string> ranges_left_out() const;

 private:
  struct Line {
    Trouble kind = Trouble::incomplete;
    std::string detail;
    std::string text;
  };
  [[nodiscard]] std::vector<Line> lines() const;

  std::filesystem::path path_;
};

}  // namespace peakmark

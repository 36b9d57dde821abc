#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "recorders/trouble.hpp"

namespace peakmark {

/// The file in which the recorders tell what keeps them from recording everything ($PEAKMARK_ERROR_FILE). It
/// goes with this object.
class ErrorFile {
 public:
  /// Beside the recording of that name; where that disk is full already, among the temporary files.
  /// IoError where no file can be written there: the profile could not either.
  explicit ErrorFile(const std::filesystem::path& name);
  ErrorFile(const ErrorFile&) = delete;
  ErrorFile& operator=(const ErrorFile&) = delete;
  ~ErrorFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Empty where there is none. What was left out is no trouble.
  [[nodiscard]] std::string first_line() const;
  /// Why a recorder had to stop writing, as it said; empty where none had to.
  [[nodiscard]] std::string why_stopped() const;
  /// Ranges of NVTX that were left out, and are called almost as phases of a suite.
  [[nodiscard]] std::vector<std::string> ranges_left_out() const;

 private:
  struct Line {
    RecorderErrorKind kind = RecorderErrorKind::incomplete;
    std::string detail;
    std::string text;
  };
  [[nodiscard]] std::vector<Line> lines() const;

  std::filesystem::path path_;
};

}  // namespace peakmark

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/recorders/report_error.hpp"

namespace peakmark {

/// The file $PEAKMARK_ERROR_FILE, into which recorders write why they could not record everything
/// (report_error). The destructor removes it.
class ErrorFile {
 public:
  /// Creates the file next to the recording `name`, or in the temporary folder if that disk is full. Throws
  /// IoError if it cannot be created, since the profile could not be written either.
  explicit ErrorFile(const std::filesystem::path& name);
  ErrorFile(const ErrorFile&) = delete;
  ErrorFile& operator=(const ErrorFile&) = delete;
  ~ErrorFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Returns the first error; empty if there is none. Ignored ranges are not errors.
  [[nodiscard]] std::string first_line() const;
  /// Returns why a recorder stopped writing; empty if none did.
  [[nodiscard]] std::string why_stopped() const;
  /// Returns the NVTX ranges that were ignored although their names are almost those of phases.
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

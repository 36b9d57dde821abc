#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace peakmark {

/// Returns a duration for users: `0:07`, `12:30`, `1:02:05`.
std::string clock_text(std::chrono::seconds duration);

/// Reports the progress of a run. On a terminal it is one line that is overwritten: cases done, time elapsed
/// and left, failures, the current case. The destructor erases it. Elsewhere it is a plain line from time to
/// time, so that a log shows that the run continues.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  /// The minimum interval between plain lines.
  static constexpr std::chrono::seconds kPlainInterval{15};

  /// `done`: cases of a resumed run that are not measured again.
  Progress(std::FILE* stream, bool terminal, std::size_t total, std::size_t done,
           Clock::time_point begin = Clock::now());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows `what` happens before the next case, until that case starts.
  void starting(std::string_view what, Clock::time_point now = Clock::now());
  void started(std::string_view case_name, Clock::time_point now = Clock::now());
  void finished(bool failed, Clock::time_point now = Clock::now());
  /// Updates the displayed times.
  void tick(Clock::time_point now = Clock::now());
  /// Prints a line that is not overwritten.
  void message(std::string_view line, Clock::time_point now = Clock::now());

  /// Returns `45/294 cases, 0:12, 1:03 left, 2 failed`.
  [[nodiscard]] std::string text(Clock::time_point now) const;
  /// Returns bar and text for a terminal of `width` columns, without control sequences.
  [[nodiscard]] std::string line(Clock::time_point now, std::size_t width) const;

 private:
  void show(Clock::time_point now);
  void erase();

  std::FILE* stream_;
  bool terminal_;
  bool drawn_ = false;
  std::size_t total_;
  std::size_t already_;
  std::size_t done_;
  std::size_t failed_ = 0;
  std::string case_name_;
  std::string starting_;
  Clock::time_point begin_;
  Clock::time_point last_line_;
};

/// Returns true for a terminal on which a line can be overwritten.
bool is_terminal(std::FILE* stream);
/// Returns the columns of the terminal; 80 for any other stream.
std::size_t terminal_width(std::FILE* stream);

}  // namespace peakmark

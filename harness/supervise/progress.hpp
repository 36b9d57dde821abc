#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace peakmark {

/// `0:07`, `12:30`, `1:02:05`
std::string format_duration(std::chrono::seconds duration);

/// Says on standard error how far a run is. On a terminal a bar that is written over: cases done of all,
/// elapsed, what remains, failures so far, the case being measured; it is gone when this object is. Elsewhere
/// a plain line now and then, so that a log shows that the run goes on.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  /// How far apart plain lines are at the least.
  static constexpr std::chrono::seconds kPlainInterval{15};

  /// `done`: cases of a resumed run that need not be measured again.
  Progress(std::FILE* stream, bool terminal, std::size_t total, std::size_t done,
           Clock::time_point begin = Clock::now());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What is done before the next case: shown until that is started.
  void starting(std::string_view what, Clock::time_point now = Clock::now());
  void started(std::string_view case_name, Clock::time_point now = Clock::now());
  void finished(bool failed, Clock::time_point now = Clock::now());
  /// Time has passed.
  void tick(Clock::time_point now = Clock::now());
  /// A line that stays.
  void message(std::string_view line, Clock::time_point now = Clock::now());

  /// `45/294 cases, 0:12, 1:03 left, 2 failed`
  [[nodiscard]] std::string text(Clock::time_point now) const;
  /// The bar and the text for a terminal that is `width` columns wide, without anything that a terminal
  /// needs.
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

/// A stream on which a line can be written over.
bool is_terminal(std::FILE* stream);
/// Columns of the terminal; 80 where the stream is none.
std::size_t terminal_width(std::FILE* stream);

}  // namespace peakmark

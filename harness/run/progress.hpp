#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace peakmark {

/// `0:07`, `12:30`, `1:02:05`
std::string format_duration(std::chrono::seconds duration);

/// Says on standard error how far a run is: on a terminal a line that is written over (case n of N, elapsed,
/// what remains), elsewhere nothing but messages. The line is gone when this object is.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  /// `done`: cases of a resumed run that need not be measured again.
  Progress(std::FILE* stream, bool terminal, std::size_t total, std::size_t done);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void started(std::string_view case_name);
  void finished();
  /// A line that stays.
  void message(std::string_view line);

  /// The line, without anything that a terminal needs.
  [[nodiscard]] std::string line(Clock::time_point now) const;

 private:
  void draw();
  void erase();

  std::FILE* stream_;
  bool terminal_;
  bool drawn_ = false;
  std::size_t total_;
  std::size_t already_;
  std::size_t done_;
  std::string case_name_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace peakmark

#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {

/// How long the system may take to start a program. It takes longer only if the file system does not answer.
inline constexpr std::chrono::milliseconds kStartLimit{60'000};

struct SpawnOptions {
  bool own_group = true;  ///< in a new process group
  std::chrono::milliseconds limit = kStartLimit;
};

/// Starts a program with `descriptors` as its descriptors 0, 1, 2 and 3 and no others; a negative one stays
/// closed. The program is killed when this process ends. Throws IoError if it cannot be started, and
/// StartTimeout if the system has not started it within the limit; the process is then killed, or given up
/// (processes.hpp).
pid_t spawn(const WorkerCommand& command, const std::array<int, 4>& descriptors,
            const SpawnOptions& options = {});

/// Keeps the last non-blank lines of an output, without terminal codes.
class LastLines {
 public:
  explicit LastLines(std::size_t max_lines) : max_lines_(max_lines) {}

  void add(std::string_view text) {
    std::string line = without_terminal_codes(text);
    if (line.find_first_not_of(" \t\r") == std::string::npos) return;
    lines_.push_back(std::move(line));
    if (lines_.size() > max_lines_) lines_.pop_front();
  }
  [[nodiscard]] const std::deque<std::string>& all() const { return lines_; }

 private:
  std::size_t max_lines_;
  std::deque<std::string> lines_;
};

}  // namespace peakmark

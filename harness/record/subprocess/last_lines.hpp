#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "base/terminal_codes.hpp"

namespace peakmark {

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

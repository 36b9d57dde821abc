#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace peakmark {

/// Keeps programs that a library compiles for a device at run time, so that none is compiled twice. A program
/// is an object of the driver or a text, and holds no device memory. Not thread-safe.
class CompiledPrograms {
 public:
  /// Beyond this number the oldest program is dropped: a text has about 100 KB.
  static constexpr std::size_t kMax = 256;

  /// Returns the shared_ptr<void> that the first `compile()` for this text returned; null is not kept.
  template <typename Compile>
  std::shared_ptr<void> get(const std::string& text, Compile&& compile) {
    const auto found = std::ranges::find(programs_, text, &Program::first);
    if (found != programs_.end()) return found->second;
    std::shared_ptr<void> program = compile();
    ++compilations_;
    if (!program) return program;
    if (programs_.size() == kMax) programs_.pop_front();
    programs_.emplace_back(text, program);
    return program;
  }

  /// Returns how often `get` called `compile`.
  [[nodiscard]] std::size_t compilations() const { return compilations_; }

 private:
  using Program = std::pair<std::string, std::shared_ptr<void>>;
  std::deque<Program> programs_;
  std::size_t compilations_ = 0;
};

}  // namespace peakmark

#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace peakmark {

/// While it lives something is waited for. Where that takes long it says once what: whoever kills this
/// process for want of an answer then knows whose it was.
class LateNote {
 public:
  static constexpr std::chrono::milliseconds kLate{100};

  LateNote(std::string text, std::function<void(const std::string&)> say,
           std::chrono::milliseconds after = kLate);
  LateNote(const LateNote&) = delete;
  LateNote& operator=(const LateNote&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread waiting_;  // last: it ends before what it uses
};

}  // namespace peakmark

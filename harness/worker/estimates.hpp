#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runfile/observation.hpp"
#include "worker/variant.hpp"

namespace peakmark {

/// Asks every estimator of a variant about one case: how many slices fit `available_bytes` (not asked when
/// null), and how many bytes the case's slices need. An estimator that throws answers with an error. `tell`
/// is told of each before it is asked; without it, one that takes long is named on standard error.
std::vector<EstimateObservation> ask_estimators(const Variant& variant, const Parameters& parameters,
                                                std::optional<Size> available_bytes,
                                                const std::function<void(std::string_view)>& tell = nullptr);

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

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

#include "measure/runfile/observation.hpp"
#include "measure/worker/variant.hpp"

namespace peakmark {

/// Returns an entry for each estimator of a variant, without an answer.
std::vector<EstimateObservation> unasked_estimates(const RegisteredVariant& variant,
                                                   const Parameters& parameters);

/// Calls every estimator of a variant for one case: how many slices fit into `available_bytes` (unless it is
/// null), and how many bytes the case's slices need. An exception of an estimator becomes its error. Calls
/// `report_step` before each estimator, and `answered` after it; without `report_step`, slow estimators are
/// reported on standard error.
std::vector<EstimateObservation> ask_estimators(
    const RegisteredVariant& variant, const Parameters& parameters, std::optional<Size> available_bytes,
    const std::function<void(std::string_view)>& report_step = nullptr,
    const std::function<void(const EstimateObservation&)>& answered = nullptr);

/// Reports a long wait: if this object lives longer than `after`, it calls `say` once. Then the output of a
/// process that is killed for a timeout contains the reason.
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
  std::jthread waiting_;  // last member: its thread ends before the members that it uses are destroyed
};

}  // namespace peakmark

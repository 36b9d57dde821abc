#include "measure/worker/estimates.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <system_error>
#include <utility>

namespace peakmark {

namespace {

/// Stores the message of an exception, unless `error` already has one.
void guard(std::optional<std::string>& error, const std::function<void()>& question) {
  try {
    question();
  } catch (const std::exception& thrown) {
    if (!error) error = thrown.what();
  }
}

}  // namespace

std::vector<EstimateObservation> unasked_estimates(const RegisteredVariant& variant,
                                                   const Parameters& parameters) {
  std::vector<EstimateObservation> estimates;
  estimates.reserve(variant.estimators.size());
  for (const RegisteredEstimator& estimator : variant.estimators) {
    EstimateObservation& one = estimates.emplace_back();
    one.estimator = estimator.name();
    one.form = estimator.form();
    one.slices_used = parameters.integer(variant.description.slice_axis);
    one.error = "not_asked: the worker asks it last";
    one.is_asked = false;
  }
  return estimates;
}

std::vector<EstimateObservation> ask_estimators(
    const RegisteredVariant& variant, const Parameters& parameters, std::optional<Size> available_bytes,
    const std::function<void(std::string_view)>& report_step,
    const std::function<void(const EstimateObservation&)>& answered) {
  std::vector<EstimateObservation> answers = unasked_estimates(variant, parameters);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const RegisteredEstimator& estimator = variant.estimators[i];
    EstimateObservation& answer = answers[i];
    answer.error.reset();
    answer.is_asked = true;
    guard(answer.error, [&] {
      const std::string whose =
          fmt::format("the estimator '{}' of {}", answer.estimator, variant.description.name);
      std::optional<LateNote> note;
      if (report_step) {
        report_step(whose);
      } else {
        note.emplace(whose + " has not answered yet",
                     [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); });
      }
      variant.check(parameters);
      guard(answer.error, [&] { answer.bytes_estimated = estimator.bytes(parameters, answer.slices_used); });
      if (!available_bytes) return;
      answer.slices_estimated = estimator.max_slices(parameters, *available_bytes);
      answer.dtype = std::string(to_string(variant.output_dtype(parameters)));
    });
    if (answered) answered(answer);
  }
  return answers;
}

LateNote::LateNote(std::string text, std::function<void(const std::string&)> say,
                   std::chrono::milliseconds after) {
  const auto wait = [this, text = std::move(text), say = std::move(say), after](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, stop, after, [] { return false; });
    if (!stop.stop_requested()) say(text);
  };
  try {
    waiting_ = std::jthread(wait);
  } catch (const std::system_error&) {  // no thread is available: continue without a note
  }
}

}  // namespace peakmark

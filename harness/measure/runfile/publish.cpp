#include "measure/runfile/publish.hpp"

namespace peakmark {
namespace {

void publish(std::string& text, const PrivateTexts& texts) {
  if (!text.empty()) text = public_text(text, texts);
}

void publish(EstimateObservation& estimate, const PrivateTexts& texts) {
  if (estimate.error) publish(*estimate.error, texts);
}

}  // namespace

void publish_texts(Observation& observation, const PrivateTexts& texts) {
  publish(observation.message, texts);
  if (observation.program_failure) {
    for (std::string& line : observation.program_failure->last_lines) publish(line, texts);
  }
  for (CallLeak& leak : observation.call_leaks) {
    publish(leak.phase, texts);
    publish(leak.where, texts);
  }
  for (std::string& moved : observation.moved_allocations) publish(moved, texts);
  if (observation.allocation_sequence) {
    for (SequencedAllocation& one : *observation.allocation_sequence) {
      publish(one.phase, texts);
      publish(one.where, texts);
      publish(one.process, texts);
    }
  }
  if (observation.estimate) publish(*observation.estimate, texts);
  for (EstimateObservation& estimate : observation.other_estimates) publish(estimate, texts);
}

void publish_texts(RunContext& context, const PrivateTexts& texts) {
  for (std::string& warning : context.warnings) publish(warning, texts);
  std::erase_if(context.environment,
                [](const auto& fact) { return !is_public_fact(fact.first, fact.second); });
}

}  // namespace peakmark

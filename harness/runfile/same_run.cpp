#include "runfile/same_run.hpp"

namespace peakmark {
namespace {

std::string passes_of(const RunContext& context) {
  return context.memory_only ? "memory only" : "memory and time";
}

/// Seed and job of a run to go on with are its own.
std::string rounds_of(const RunContext& context) {
  if (!context.rounds) return "none";
  std::string text = std::to_string(context.rounds->rounds);
  if (context.rounds->variants) {
    text += " with --variants " + context.rounds->variants->first + " " + context.rounds->variants->second;
  }
  return text + (context.rounds->two_passes ? " in two looks" : "");
}

}  // namespace

std::optional<RunDifference> first_difference(const RunContext& one, const RunContext& other) {
  const RunDifference candidates[] = {
      {"suite", one.suite, other.suite},
      {"suite: its cases, or what is expected of them, have changed: fingerprint", one.fingerprint,
       other.fingerprint},
      {"backend", one.backend, other.backend},
      {"device", one.device, other.device},
      {"driver", one.driver, other.driver},
      {"platform", one.platform, other.platform},
      {"worker", one.worker, other.worker},
      {"build", one.build, other.build},
      {"commit", one.commit, other.commit},
      {"--cache", one.asked_cache.value_or("default"), other.asked_cache.value_or("default")},
      {"set of passes", passes_of(one), passes_of(other)},
      {"number of rounds", rounds_of(one), rounds_of(other)},
  };
  for (const RunDifference& candidate : candidates) {
    if (candidate.one != candidate.other) return candidate;
  }
  return std::nullopt;
}

}  // namespace peakmark

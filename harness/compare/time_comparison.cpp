#include "compare/time_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.hpp"
#include "statistics/false_discovery.hpp"

namespace peakmark {
namespace {

/// What became of a case in the two looks.
enum class Stage {
  not_in_turns,
  only_look,       ///< the run was to take one look
  screening_pass,  ///< of two, of which the first is not through
  not_candidate,   ///< the first look gave no reason for a second
  confirmation_pass
};

class Looks {
 public:
  explicit Looks(const std::optional<Rounds>& rounds) : rounds_(rounds) {
    if (!rounds || !rounds->confirmation_pass) return;
    chosen_.insert(rounds->confirmation_pass->begin(), rounds->confirmation_pass->end());
  }

  [[nodiscard]] Stage stage_of(const TimePair& pair) const {
    if (!rounds_) return Stage::not_in_turns;
    if (!rounds_->two_passes) return Stage::only_look;
    if (!rounds_->confirmation_pass) return Stage::screening_pass;
    return chosen_.contains(pair.next->case_name) ? Stage::confirmation_pass : Stage::not_candidate;
  }

 private:
  const std::optional<Rounds>& rounds_;
  std::unordered_set<std::string_view> chosen_;
};

Evidence evidence_of(Stage stage) {
  if (stage == Stage::not_in_turns) return Evidence::not_in_turns;
  return stage == Stage::confirmation_pass ? Evidence::confirmation_pass : Evidence::one_pass;
}

std::string more_rounds(const TimeChange& change) {
  const auto blocks = blocks_to_decide(change);
  if (!blocks) return "too noisy, or too near to what counts as a change, for any number of rounds";
  if (*blocks > static_cast<std::size_t>(kMaxRounds)) {
    return "too noisy for any number of rounds: quieten the machine (peakmark doctor)";
  }
  return fmt::format("--rounds {} would tell, if the noise stays as it is", *blocks);
}

std::string advice_on(const TimeComparison& one, Stage stage) {
  const TimeChange& change = *one.change;
  const std::size_t least = std::min(change.base_blocks, change.new_blocks);
  std::string interleaved =
      "measure both in turns, in one job: `peakmark run SUITE --rounds 15 --variants OLD NEW` "
      "or `peakmark compare SUITE --build OTHER`";
  switch (one.verdict) {
    case TimeVerdict::suspicious:
      if (stage == Stage::not_in_turns) return interleaved;
      if (stage == Stage::screening_pass) return "the second look is missing: --resume takes it";
      return "no second look confirms it: run with --variants OLD NEW, or compare with --build";
    case TimeVerdict::undecided:
      if (stage == Stage::not_in_turns) {
        return fmt::format("two jobs differ by up to {:.0f} % with nothing changed; {}", 100 * kBetweenJobs,
                           interleaved);
      }
      if (least < kMinBlocks) {
        return fmt::format(
            "{} a side, and a verdict needs {}: --rounds {}, or --resume where the run was cut short",
            quantity(least, "block"), kMinBlocks, kMinBlocks);
      }
      return more_rounds(change);
    default:
      return {};
  }
}

std::string clocks_differ(const TimePair& pair) {
  if (pair.base->time_source == pair.next->time_source) return {};
  return fmt::format("the base's times are of the {}, the new ones of the {}",
                     pair.base->time_source.value_or("unknown clock"),
                     pair.next->time_source.value_or("unknown clock"));
}

/// A flushed cache is part of what a cold time measures.
std::string caches_differ(const TimePair& pair) {
  if (cache_of(*pair.base) == cache_of(*pair.next)) return {};
  return fmt::format("the base's times are {}, the new ones {}: measure both with the same --cache",
                     cache_of(*pair.base), cache_of(*pair.next));
}

}  // namespace

std::vector<std::optional<TimeComparison>> compare_times(const std::vector<TimePair>& pairs,
                                                         const std::optional<Rounds>& interleaved) {
  const Looks looks(interleaved);
  std::vector<std::optional<TimeComparison>> comparisons(pairs.size());
  // The cases of one second look are judged together, and all others together. A case that gave no reason for
  // a second look cannot be a change any more.
  std::vector<std::size_t> families[2];
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const TimePair& pair = pairs[i];
    if (!pair.base->gpu_time && !pair.next->gpu_time) continue;
    TimeComparison& one = comparisons[i].emplace();
    const Stage stage = looks.stage_of(pair);
    one.look = stage == Stage::confirmation_pass ? 2 : 1;
    if (pair.base->gpu_time && pair.next->gpu_time) one.advice = caches_differ(pair);
    if (!one.advice.empty()) {
      one.verdict = TimeVerdict::not_comparable;
      continue;
    }
    // Without rounds in common all blocks count.
    const auto base = block_medians(*pair.base, interleaved, one.look);
    const auto next = block_medians(*pair.next, interleaved, one.look);
    one.advice = time_error(base, next);
    if (!one.advice.empty() && stage == Stage::confirmation_pass)
      one.advice += " in its second look: --resume takes it";
    if (one.advice.empty()) one.advice = clocks_differ(pair);
    if (!one.advice.empty()) continue;
    one.change = time_change(base, next);
    if (stage != Stage::not_candidate) families[stage == Stage::confirmation_pass ? 1 : 0].push_back(i);
  }
  for (const auto& family : families) {
    std::vector<double> p;
    p.reserve(family.size());
    for (const std::size_t i : family) p.push_back(comparisons[i]->change->p);
    const std::vector<double> adjusted = adjust_false_discovery(p);
    for (std::size_t i = 0; i < family.size(); ++i) comparisons[family[i]]->adjusted_p = adjusted[i];
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!comparisons[i] || !comparisons[i]->change) continue;
    TimeComparison& one = *comparisons[i];
    const Stage stage = looks.stage_of(pairs[i]);
    one.verdict = judge_time(*one.change, one.adjusted_p, evidence_of(stage));
    one.advice = advice_on(one, stage);
  }
  return comparisons;
}

}  // namespace peakmark

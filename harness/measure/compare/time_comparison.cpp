#include "measure/compare/time_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.hpp"
#include "measure/statistics/rank_statistics.hpp"

namespace peakmark {
namespace {

/// The last stage that the measurement of a case reached.
enum class Stage {
  not_interleaved,
  single_pass,     ///< the run has no confirmation pass
  screening_pass,  ///< the confirmation pass is missing
  not_candidate,   ///< the screening pass found no reason to confirm
  confirmation_pass
};

class PassStages {
 public:
  explicit PassStages(const std::optional<Rounds>& rounds) : rounds_(rounds) {
    if (!rounds || !rounds->confirmation_pass) return;
    chosen_.insert(rounds->confirmation_pass->begin(), rounds->confirmation_pass->end());
  }

  [[nodiscard]] Stage stage(const TimePair& pair) const {
    if (!rounds_) return Stage::not_interleaved;
    if (!rounds_->two_passes) return Stage::single_pass;
    if (!rounds_->confirmation_pass) return Stage::screening_pass;
    return chosen_.contains(pair.next->case_name) ? Stage::confirmation_pass : Stage::not_candidate;
  }

 private:
  const std::optional<Rounds>& rounds_;
  std::unordered_set<std::string_view> chosen_;
};

Evidence evidence(Stage stage) {
  if (stage == Stage::not_interleaved) return Evidence::not_interleaved;
  return stage == Stage::confirmation_pass ? Evidence::confirmation_pass : Evidence::one_pass;
}

std::string more_rounds(const TimeChange& change) {
  const auto blocks = blocks_to_decide(change);
  if (!blocks || *blocks > static_cast<std::size_t>(kMaxRounds)) {
    return fmt::format(
        "too noisy for {} rounds, the maximum, to decide; reduce the load of the machine (peakmark doctor)",
        kMaxRounds);
  }
  return fmt::format("too few rounds: --rounds {} would decide at this level of noise", *blocks);
}

std::string time_advice(const TimeComparison& one, Stage stage) {
  const TimeChange& change = *one.change;
  const std::size_t blocks = std::min(change.base_blocks, change.new_blocks);
  std::string interleave =
      "measure both sides interleaved: `peakmark run SUITE --rounds 15 --variants OLD NEW` or `peakmark "
      "compare SUITE --build OTHER`";
  switch (one.verdict) {
    case TimeVerdict::suspicious:
      if (stage == Stage::not_interleaved) return interleave;
      if (stage == Stage::screening_pass) return "confirmation pass missing: run it with --resume";
      return "no confirmation pass: run with --variants OLD NEW, or compare with --build";
    case TimeVerdict::undecided:
      if (stage == Stage::not_interleaved) {
        return fmt::format("two jobs differ by up to {:.0f} % without any change; {}", 100 * kBetweenJobs,
                           interleave);
      }
      if (blocks < kMinBlocks) {
        return fmt::format("{} a side, {} needed: --rounds {}, or --resume if the run is incomplete",
                           quantity(blocks, "block"), kMinBlocks, kMinBlocks);
      }
      return more_rounds(change);
    default:
      return {};
  }
}

std::string methods_differ(const TimePair& pair) {
  const std::string base = time_method(*pair.base);
  const std::string next = time_method(*pair.next);
  if (base == next) return {};
  const std::string kinds = fmt::format("times of two kinds: base {}; new {}; ", base, next);
  const bool is_of_two_devices = differs_in_device_only(base, next);
  return kinds + (is_of_two_devices ? "measure both on one device"
                                    : "measure both alike (--cache, marks of the program)");
}

}  // namespace

std::vector<std::optional<TimeComparison>> compare_times(const std::vector<TimePair>& pairs,
                                                         const std::optional<Rounds>& interleaved) {
  const PassStages stages(interleaved);
  std::vector<std::optional<TimeComparison>> comparisons(pairs.size());
  // False discoveries are limited separately among the cases of the confirmation pass and among all others. A
  // case that was not confirmed can no longer be a change.
  std::vector<std::size_t> families[2];
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const TimePair& pair = pairs[i];
    if (!pair.base->gpu_time && !pair.next->gpu_time) continue;
    TimeComparison& one = comparisons[i].emplace();
    const Stage stage = stages.stage(pair);
    one.pass = stage == Stage::confirmation_pass ? 2 : 1;
    if (pair.base->gpu_time && pair.next->gpu_time) one.advice = methods_differ(pair);
    if (!one.advice.empty()) {
      one.verdict = TimeVerdict::not_comparable;
      continue;
    }
    // Without common rounds, all blocks count.
    const auto base = block_medians(*pair.base, interleaved, one.pass);
    const auto next = block_medians(*pair.next, interleaved, one.pass);
    one.advice = time_error(base, next);
    if (!one.advice.empty() && stage == Stage::confirmation_pass)
      one.advice += " in its confirmation pass: run it with --resume";
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
    const Stage stage = stages.stage(pairs[i]);
    one.verdict = judge_time(*one.change, one.adjusted_p, evidence(stage));
    one.advice = time_advice(one, stage);
  }
  return comparisons;
}

}  // namespace peakmark

#include "measure/runfile/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "measure/runfile/run_file.hpp"
#include "measure/statistics/rank_statistics.hpp"

namespace peakmark {
namespace {

bool has_round(const Observation& observation, int round) {
  const auto& rounds = observation.gpu_time->rounds;
  return rounds && std::ranges::find(*rounds, round) != rounds->end();
}

/// Returns true if further blocks of the case can be measured.
bool can_be_timed(const Observation& observation) {
  return observation.outcome == Outcome::ok && observation.gpu_time.has_value();
}

/// Combines all samples to one block of this round.
void make_one_block(std::optional<GpuTime>& time, int round) {
  if (!time) return;
  std::vector<double> samples;
  for (const auto& block : time->blocks) samples.insert(samples.end(), block.begin(), block.end());
  if (samples.empty()) {
    time.reset();
    return;
  }
  time = summarise_blocks({std::move(samples)});
  time->rounds = std::vector<int>{round};
}

void append_blocks(GpuTime& known, const GpuTime& later) {
  std::vector<std::vector<double>> blocks = std::move(known.blocks);
  std::vector<int> rounds = known.rounds.value_or(std::vector<int>{});
  blocks.insert(blocks.end(), later.blocks.begin(), later.blocks.end());
  rounds.insert(rounds.end(), later.rounds->begin(), later.rounds->end());
  known = summarise_blocks(std::move(blocks));
  known.rounds = std::move(rounds);
}

/// Returns the medians of the blocks that are not empty and for which `counts` is true, in their order.
template <typename Counts>
std::vector<double> medians_of(const GpuTime& time, Counts counts) {
  std::vector<double> medians;
  for (std::size_t block = 0; block < time.blocks.size(); ++block) {
    if (counts(block) && !time.blocks[block].empty()) medians.push_back(quantile(time.blocks[block], 0.5));
  }
  return medians;
}

}  // namespace

std::vector<PlannedCase> in_order_of_round(std::vector<PlannedCase> cases, std::uint64_t seed, int round) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(round)};
  std::mt19937_64 random(words);
  // Not std::shuffle, which differs between libraries. The bias of the modulo is below 2⁻⁴⁰ here.
  for (std::size_t left = cases.size(); left > 1; --left) std::swap(cases[left - 1], cases[random() % left]);
  return cases;
}

Observation as_round(Observation observation, int round) {
  make_one_block(observation.gpu_time, round);
  make_one_block(observation.gpu_time_hot, round);
  return observation;
}

void add_round(Observation& known, const Observation& later) {
  if (later.outcome != Outcome::ok && known.outcome == Outcome::ok) {
    known.outcome = later.outcome;
    known.message = later.message + " (in a later round)";
  }
  if (!later.gpu_time || !later.gpu_time->rounds) return;
  if (!known.gpu_time) {
    known.gpu_time = later.gpu_time;
    known.time_source = later.time_source;
    known.cache = later.cache;
    known.gpu_time_hot = later.gpu_time_hot;
    known.throttled_blocks = later.throttled_blocks;
    return;
  }
  // The flush buffer may not have fitted into memory in one of the rounds.
  if (time_method(known) != time_method(later)) return;
  append_blocks(*known.gpu_time, *later.gpu_time);
  if (known.gpu_time_hot && later.gpu_time_hot && later.gpu_time_hot->rounds) {
    append_blocks(*known.gpu_time_hot, *later.gpu_time_hot);
  }
  if (later.throttled_blocks) {
    known.throttled_blocks = known.throttled_blocks.value_or(0) + *later.throttled_blocks;
  }
}

bool shares_a_round(const Observation& one, const Observation& other) {
  if (!one.gpu_time || !other.gpu_time || !other.gpu_time->rounds) return false;
  return std::ranges::any_of(*other.gpu_time->rounds, [&](int round) { return has_round(one, round); });
}

std::vector<PlannedCase> left_in_round(const Run& run, int round) {
  const Rounds& rounds = run.context.rounds.value();
  const bool is_confirmation = round > rounds.rounds;
  if (is_confirmation && !rounds.confirmation_pass) return {};
  std::unordered_set<std::string_view> chosen;
  if (is_confirmation) chosen.insert(rounds.confirmation_pass->begin(), rounds.confirmation_pass->end());
  std::unordered_map<std::string_view, const Observation*> observations;
  for (const Observation& one : run.observations) observations.emplace(one.case_name, &one);
  std::vector<PlannedCase> left;
  for (const PlannedCase& planned : run.context.planned) {
    if (is_confirmation && !chosen.contains(planned.name)) continue;
    const auto found = observations.find(planned.name);
    const bool is_left = found == observations.end()
                             ? !is_confirmation
                             : can_be_timed(*found->second) && !has_round(*found->second, round);
    if (is_left) left.push_back(planned);
  }
  return left;
}

bool has_all_rounds(const Run& run) {
  const Rounds& rounds = run.context.rounds.value();
  if (rounds.two_passes && !rounds.confirmation_pass) return false;
  const int last = rounds.two_passes ? 2 * rounds.rounds : rounds.rounds;
  for (int round = 1; round <= last; ++round) {
    if (!left_in_round(run, round).empty()) return false;
  }
  return true;
}

std::vector<double> block_medians(const GpuTime& time) {
  return medians_of(time, [](std::size_t) { return true; });
}

std::vector<double> block_medians(const Observation& observation, const std::optional<Rounds>& rounds,
                                  int pass) {
  if (!observation.gpu_time) return {};
  const GpuTime& time = *observation.gpu_time;
  return medians_of(time, [&](std::size_t block) {
    const bool has_a_round = rounds && time.rounds && block < time.rounds->size();
    return pass == (has_a_round && (*time.rounds)[block] > rounds->rounds ? 2 : 1);
  });
}

}  // namespace peakmark

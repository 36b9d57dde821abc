#include "runfile/candidates.hpp"

#include "runfile/run_file.hpp"
#include "statistics/time_change.hpp"

namespace peakmark {

std::vector<std::pair<std::string, std::string>> candidates(const std::vector<const Observation*>& base,
                                                            const std::vector<const Observation*>& next,
                                                            const Rounds& rounds, PairBy by) {
  std::vector<std::pair<std::string, std::string>> chosen;
  for (const auto& [base_place, new_place] : pair_cases(base, next, by).pairs) {
    if (cache_of(*base[base_place]) != cache_of(*next[new_place])) continue;
    const std::vector<double> before = block_medians(*base[base_place], rounds, 1);
    const std::vector<double> after = block_medians(*next[new_place], rounds, 1);
    if (!time_error(before, after).empty() || !is_candidate(time_change(before, after))) continue;
    chosen.emplace_back(base[base_place]->case_name, next[new_place]->case_name);
  }
  return chosen;
}

std::vector<std::string> candidates_of_variants(const Run& run) {
  const Rounds& rounds = run.context.rounds.value();
  const auto& [old_variant, new_variant] = rounds.variants.value();
  std::vector<std::string> names;
  for (const auto& [before, after] : candidates(observations_of(run, old_variant),
                                                observations_of(run, new_variant), rounds, PairBy::axes)) {
    names.push_back(before);
    names.push_back(after);
  }
  return names;
}

std::vector<const Observation*> observations_of(const Run& run, const std::string& variant) {
  std::vector<const Observation*> found;
  for (const Observation& one : run.observations) {
    if (one.variant == variant) found.push_back(&one);
  }
  return found;
}

std::vector<const Observation*> observations_of(const Run& run) {
  std::vector<const Observation*> all;
  for (const Observation& one : run.observations) all.push_back(&one);
  return all;
}

}  // namespace peakmark

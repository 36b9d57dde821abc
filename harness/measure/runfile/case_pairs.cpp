#include "measure/runfile/case_pairs.hpp"

#include <algorithm>
#include <unordered_map>

#include "measure/runfile/run_file.hpp"
#include "measure/statistics/time_change.hpp"

namespace peakmark {

namespace {

std::string work_of(const Observation& one, PairBy by) {
  std::vector<std::string> axes;
  for (const auto& [name, value] : one.axes.values()) axes.push_back(name + ":" + to_text(value));
  std::ranges::sort(axes);
  std::string text = one.backend + "/" + (by == PairBy::axes ? "" : one.variant);
  for (const std::string& axis : axes) text += "/" + axis;
  return text;
}

std::string name_to_pair(const Observation& one, PairBy by) {
  const bool has_variant = one.case_name.starts_with(one.variant);
  return by == PairBy::axes && has_variant ? one.case_name.substr(one.variant.size()) : one.case_name;
}

/// A version belongs to one variant: versions of two variants are not compared.
bool is_same_version(const Observation& one, const Observation& other, PairBy by) {
  return by == PairBy::axes || one.version == other.version;
}

bool common_axes_agree(const Observation& one, const Observation& other) {
  return std::ranges::all_of(one.axes.values(), [&](const auto& axis) {
    const AxisValue* const value = other.axes.find(axis.first);
    return value == nullptr || *value == axis.second;
  });
}

}  // namespace

CasePairs pair_cases(const std::vector<const Observation*>& base, const std::vector<const Observation*>& next,
                     PairBy by) {
  std::unordered_map<std::string, std::size_t> by_work;
  std::unordered_map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < base.size(); ++i) {
    by_work.emplace(work_of(*base[i], by), i);
    by_name.emplace(name_to_pair(*base[i], by), i);
  }
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> partner(next.size(), kNone);
  std::vector<bool> taken(base.size(), false);
  for (std::size_t i = 0; i < next.size(); ++i) {
    const auto found = by_work.find(work_of(*next[i], by));
    if (found == by_work.end() || taken[found->second]) continue;
    if (!is_same_version(*base[found->second], *next[i], by)) continue;
    partner[i] = found->second;
    taken[found->second] = true;
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (partner[i] != kNone) continue;
    const auto found = by_name.find(name_to_pair(*next[i], by));
    if (found == by_name.end() || taken[found->second]) continue;
    if (!common_axes_agree(*base[found->second], *next[i])) continue;
    if (!is_same_version(*base[found->second], *next[i], by)) continue;
    partner[i] = found->second;
    taken[found->second] = true;
  }
  CasePairs pairs;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (partner[i] == kNone) {
      pairs.only_new.push_back(i);
    } else {
      pairs.pairs.emplace_back(partner[i], i);
    }
  }
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!taken[i]) pairs.only_base.push_back(i);
  }
  return pairs;
}

std::string of_worker(const std::string& text, std::string_view variant) {
  const std::size_t point = variant.rfind('.');
  if (point == std::string_view::npos) return text;
  const std::string start = std::string(variant.substr(point + 1)) + "=";
  std::size_t at = text.starts_with(start) ? 0 : text.find(", " + start);
  if (at == std::string::npos) return text;
  at += (at == 0 ? 0 : 2) + start.size();
  return text.substr(at, text.find(", ", at) - at);
}

std::vector<std::pair<std::string, std::string>> candidates(const std::vector<const Observation*>& base,
                                                            const std::vector<const Observation*>& next,
                                                            const Rounds& rounds, PairBy by) {
  std::vector<std::pair<std::string, std::string>> chosen;
  for (const auto& [base_place, new_place] : pair_cases(base, next, by).pairs) {
    if (time_method(*base[base_place]) != time_method(*next[new_place])) continue;
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

#include "measure/runfile/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/text.hpp"

namespace peakmark {

namespace {

using Parts = std::map<int, NamedRun*>;

/// The shards to merge, and what is missing.
struct Shards {
  Parts parts;
  std::string partial;  ///< RunContext::partial
  std::vector<std::string> lost_cases;
};

void check_alike(const NamedRun& first, const NamedRun& other) {
  const auto fail = [&](const std::string& what, const std::string& one, const std::string& another) {
    throw UsageError(other.path.string() + " has another " + what + " than " + first.path.string() + ": '" +
                     another + "' and '" + one + "'; only shards of one run can be merged");
  };
  const RunContext& a = first.run.context;
  const RunContext& b = other.run.context;
  if (const auto difference = first_difference(a, b)) {
    fail(difference->what, difference->one, difference->other);
  }
  if (a.filter != b.filter) fail("--filter", a.filter.value_or("none"), b.filter.value_or("none"));
  if (a.shard->places.has_value() != b.shard->places.has_value()) {
    fail("--balance", a.shard->places ? "given" : "none", b.shard->places ? "given" : "none");
  }
  if (a.shard->count != b.shard->count) {
    fail("number of shards", std::to_string(a.shard->count), std::to_string(b.shard->count));
  }
}

/// Throws UsageError if a case has two observations. Returns whether every case has one.
bool is_whole(const NamedRun& shard) {
  std::unordered_set<std::string_view> measured;
  for (const Observation& observation : shard.run.observations) {
    if (!measured.insert(observation.case_name).second) {
      throw UsageError(shard.path.string() + " has the case " + observation.case_name + " twice");
    }
  }
  return std::ranges::all_of(shard.run.context.planned,
                             [&](const PlannedCase& planned) { return measured.contains(planned.name); });
}

/// Returns `shards 2,5 of 8 are missing`; empty for an empty list. The list has the form of Slurm's --array.
std::string shards_text(const std::vector<int>& indices, int count, const char* what) {
  if (indices.empty()) return {};
  std::string list;
  for (const int index : indices) list += (list.empty() ? "" : ",") + std::to_string(index);
  return (indices.size() == 1 ? "shard " : "shards ") + list + " of " + std::to_string(count) +
         (indices.size() == 1 ? " is " : " are ") + what;
}

/// Returns the cases that a missing shard planned, in the order of the suite: none of these shards has them.
std::vector<std::string> cases_of_missing_shards(const Parts& parts) {
  std::unordered_set<std::string_view> planned;
  for (const auto& [index, part] : parts) {
    for (const PlannedCase& one : part->run.context.planned) planned.insert(one.name);
  }
  std::vector<std::string> lost;
  const std::vector<std::string>* others = nullptr;
  for (const auto& [index, part] : parts) {
    const std::vector<std::string>& names = part->run.context.shard->other_cases;
    if (others == nullptr || names.size() > others->size()) others = &names;
  }
  std::ranges::copy_if(*others, std::back_inserter(lost),
                       [&](const std::string& name) { return !planned.contains(name); });
  return lost;
}

/// Returns ` (25 cases: a, b, c and 22 more)`; empty if there are no cases.
std::string cases_text(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  if (names.empty()) return {};
  return fmt::format(" ({}: {})", quantity(names.size(), "case"), first_names(names, kNamed));
}

Shards shards_of(std::vector<NamedRun>& shards) {
  if (shards.empty()) throw UsageError("nothing to merge: no shard that can be read");
  Shards found;
  Parts& parts = found.parts;
  std::vector<int> unfinished;
  for (NamedRun& shard : shards) {
    if (!shard.run.context.shard) {
      throw UsageError(shard.path.string() + " is not a shard: it was measured without --shard");
    }
    if (shard.run.context.rounds) {
      throw UsageError(shard.path.string() +
                       " was measured in rounds; shards are not interleaved with each other, so such runs "
                       "cannot be merged");
    }
    check_alike(shards.front(), shard);
    const auto [place, is_new] = parts.emplace(shard.run.context.shard->index, &shard);
    if (!is_new) {
      throw UsageError(shard.path.string() + " and " + place->second->path.string() + " are both part " +
                       std::to_string(place->first));
    }
    if (!is_whole(shard)) unfinished.push_back(shard.run.context.shard->index);
  }
  std::ranges::sort(unfinished);
  const int count = shards.front().run.context.shard->count;
  std::vector<int> missing;
  for (int index = 1; index <= count; ++index) {
    if (!parts.contains(index)) missing.push_back(index);
  }
  if (!missing.empty()) found.lost_cases = cases_of_missing_shards(parts);
  found.partial = shards_text(missing, count, "missing") + cases_text(found.lost_cases);
  if (!unfinished.empty())
    found.partial += (missing.empty() ? "" : ", ") + shards_text(unfinished, count, "unfinished");
  return found;
}

/// A planned case with its place in the list of all cases.
struct PlacedCase {
  std::int64_t place = 0;
  PlannedCase* planned = nullptr;
};

/// Returns the cases of a shard with their places: those in the run file, or those of every N-th case.
std::vector<PlacedCase> placed_cases(NamedRun& part) {
  const Shard& shard = *part.run.context.shard;
  auto& planned = part.run.context.planned;
  if (shard.places && shard.places->size() != planned.size()) {
    throw UsageError(part.path.string() + ": `places` has " + std::to_string(shard.places->size()) +
                     " elements for " + quantity(planned.size(), "case") + "; measure the shard again");
  }
  std::vector<PlacedCase> placed;
  placed.reserve(planned.size());
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    placed.push_back({shard.places ? (*shard.places)[i] : row * shard.count + shard.index - 1, &planned[i]});
  }
  return placed;
}

/// Throws UsageError if balanced shards have gaps: each was complete, but they come from different
/// distributions.
void check_all_placed(const std::vector<PlacedCase>& placed, const NamedRun& part) {
  if (!part.run.context.shard->places) return;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (placed[i].place == static_cast<std::int64_t>(i)) continue;
    throw UsageError("no shard has the case number " + std::to_string(i) +
                     ": the shards were balanced by different runs; measure all with one --balance");
  }
}

/// Returns the cases in the order of the suite. Moves them out of the shards.
std::vector<PlannedCase> take_planned_cases(const Shards& shards) {
  const Parts& parts = shards.parts;
  std::vector<PlacedCase> placed;
  std::unordered_set<std::string_view> names;
  for (const auto& [index, part] : parts) {
    for (const PlacedCase& one : placed_cases(*part)) {
      if (!names.insert(one.planned->name).second) {
        throw UsageError(part->path.string() + " has the case " + one.planned->name +
                         ", which another part has too; measure all parts with one --balance");
      }
      placed.push_back(one);
    }
  }
  std::ranges::sort(placed, {}, &PlacedCase::place);
  const bool has_all = static_cast<int>(parts.size()) == parts.begin()->second->run.context.shard->count;
  if (has_all) check_all_placed(placed, *parts.begin()->second);
  std::vector<PlannedCase> planned;
  planned.reserve(placed.size());
  for (const PlacedCase& one : placed) planned.push_back(std::move(*one.planned));
  return planned;
}

template <typename T>
void add_new(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
}

/// Returns an id that is the same for the same shards, so that a repeated CI job does not add a second run to
/// a history.
std::string id_of_merged(const Shards& shards, std::size_t observations, std::string date) {
  Fingerprint ids;
  for (const auto& [index, part] : shards.parts) ids.add(part->run.context.id);
  // A shard that is finished later keeps its id, so the merged id also depends on what is missing.
  if (!shards.partial.empty()) ids.add(shards.partial + ", " + std::to_string(observations));
  std::erase_if(date, [](char letter) { return letter == '-' || letter == ':'; });
  return date + "-" + ids.text();
}

std::string passes_of(const RunContext& context) {
  return context.memory_only ? "memory only" : "memory and time";
}

std::string class_of(const RunContext& context) {
  return context.device_class.empty() ? "none" : context.device_class;
}

std::string limit_text(const std::optional<Size>& bytes) {
  return bytes ? format_size(*bytes) : "none";
}

/// Seed and job are omitted, because a resumed run keeps its own.
std::string rounds_of(const RunContext& context) {
  if (!context.rounds) return "none";
  std::string text = std::to_string(context.rounds->rounds);
  if (context.rounds->variants) {
    text += " with --variants " + context.rounds->variants->first + " " + context.rounds->variants->second;
  }
  return text + (context.rounds->two_passes ? " in two passes" : "");
}

}  // namespace

Run merge_runs(std::vector<NamedRun> shards) {
  const Shards found = shards_of(shards);
  const Parts& parts = found.parts;
  Run merged;
  std::vector<PlannedCase> planned = take_planned_cases(found);
  for (const auto& [index, part] : parts) std::vector<PlannedCase>().swap(part->run.context.planned);
  merged.context = parts.begin()->second->run.context;
  merged.context.shard.reset();
  merged.context.reference = {};
  merged.context.planned = std::move(planned);
  std::unordered_map<std::string_view, Observation*> observations;
  std::vector<std::string> hosts;
  std::vector<std::string> devices;
  for (const auto& [index, part] : parts) {
    const RunContext& context = part->run.context;
    for (Observation& observation : part->run.observations) {
      observations.emplace(observation.case_name, &observation);
    }
    add_new(merged.context.warnings, context.warnings);
    add_new(hosts, {context.host_name});
    add_new(devices, {context.device});
    merged.context.date = std::min(merged.context.date, context.date);
    // Facts that differ between the machines of the shards are unknown for the merged run.
    if (merged.context.device_memory_bytes != context.device_memory_bytes)
      merged.context.device_memory_bytes.reset();
    if (merged.context.largest_allocation_bytes != context.largest_allocation_bytes)
      merged.context.largest_allocation_bytes.reset();
    if (merged.context.clocks != context.clocks) merged.context.clocks = {};
    if (merged.context.suite_files != context.suite_files) merged.context.suite_files.reset();
    std::erase_if(merged.context.environment, [&](const auto& entry) {
      const auto other = context.environment.find(entry.first);
      return other == context.environment.end() || other->second != entry.second;
    });
  }
  merged.context.host_name = fmt::format("{}", fmt::join(hosts, "+"));
  merged.context.device = fmt::format("{}", fmt::join(devices, "+"));
  std::vector<Observation*>
      in_order;  // all are found before the first is moved, because the keys point to their names
  in_order.reserve(merged.context.planned.size());
  for (const PlannedCase& one : merged.context.planned) {
    if (const auto measured = observations.find(one.name); measured != observations.end())
      in_order.push_back(measured->second);
  }
  merged.observations.reserve(in_order.size());
  for (Observation* const one : in_order) merged.observations.push_back(std::move(*one));
  merged.context.id = id_of_merged(found, merged.observations.size(), merged.context.date);
  merged.context.complete = found.partial.empty();
  merged.context.partial = found.partial;
  merged.context.lost_cases = found.lost_cases;
  if (merged.context.lost_cases.size() > kMaxLostCases) merged.context.lost_cases.resize(kMaxLostCases);
  return merged;
}

std::optional<RunDifference> first_difference(const RunContext& one, const RunContext& other) {
  const RunDifference candidates[] = {
      {"suite", one.suite, other.suite},
      {"suite: its cases, or what is expected of them, have changed: fingerprint", one.fingerprint,
       other.fingerprint},
      {"backend", one.backend, other.backend},
      {"--device-class", class_of(one), class_of(other)},
      {"device", one.filed_under(), other.filed_under()},
      {"driver", one.driver, other.driver},
      {"platform", one.platform, other.platform},
      {"worker", one.worker, other.worker},
      {"build", one.build, other.build},
      {"commit", one.commit, other.commit},
      {"--cache", one.asked_cache.value_or("default"), other.asked_cache.value_or("default")},
      {"set of passes", passes_of(one), passes_of(other)},
      {"--budget", limit_text(one.budget_bytes), limit_text(other.budget_bytes)},
      {"--max-allocation", limit_text(one.max_allocation_bytes), limit_text(other.max_allocation_bytes)},
      {"number of rounds", rounds_of(one), rounds_of(other)},
  };
  for (const RunDifference& candidate : candidates) {
    if (candidate.one != candidate.other) return candidate;
  }
  return std::nullopt;
}

}  // namespace peakmark

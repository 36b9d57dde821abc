#include "runfile/merge.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/fingerprint.hpp"

namespace peakmark {

namespace {

using Parts = std::map<int, NamedRun*>;

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
  if (a.shard->count != b.shard->count) {
    fail("number of shards", std::to_string(a.shard->count), std::to_string(b.shard->count));
  }
}

void check_whole(const NamedRun& shard) {
  std::unordered_set<std::string_view> measured;
  for (const Observation& observation : shard.run.observations) {
    if (!measured.insert(observation.case_name).second) {
      throw UsageError(shard.path.string() + " has the case " + observation.case_name + " twice");
    }
  }
  for (const PlannedCase& planned : shard.run.context.planned) {
    if (measured.contains(planned.name)) continue;
    throw UsageError(shard.path.string() + " has no observation of " + planned.name +
                     "; finish it with --resume");
  }
}

Parts parts_of(std::vector<NamedRun>& shards) {
  if (shards.empty()) throw UsageError("nothing to merge");
  Parts parts;
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
    check_whole(shard);
  }
  for (int index = 1; index <= shards.front().run.context.shard->count; ++index) {
    if (!parts.contains(index)) {
      throw UsageError("part " + std::to_string(index) + " of " +
                       std::to_string(shards.front().run.context.shard->count) + " is missing");
    }
  }
  return parts;
}

/// Returns the cases in the order of the suite: each shard has every N-th case. Moves them out of the shards.
std::vector<PlannedCase> take_planned_cases(const Parts& parts) {
  std::size_t all = 0;
  for (const auto& [index, part] : parts) all += part->run.context.planned.size();
  std::vector<PlannedCase> planned;
  planned.reserve(all);
  std::unordered_set<std::string> names;
  for (std::size_t row = 0;; ++row) {
    const std::size_t before = planned.size();
    for (const auto& [index, part] : parts) {
      auto& cases = part->run.context.planned;
      if (row >= cases.size()) continue;
      if (!names.insert(cases[row].name).second) {
        throw UsageError(part->path.string() + " has the case " + cases[row].name +
                         ", which another part has too");
      }
      planned.push_back(std::move(cases[row]));
    }
    if (planned.size() == before) return planned;
  }
}

template <typename T>
void add_new(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
}

/// Returns an id that is equal for equal shards: a repeated CI job does not add a second run to a history.
std::string id_of_merged(const Parts& parts, std::string date) {
  Fingerprint ids;
  for (const auto& [index, part] : parts) ids.add(part->run.context.id);
  std::erase_if(date, [](char letter) { return letter == '-' || letter == ':'; });
  return date + "-" + ids.text();
}

std::string passes_of(const RunContext& context) {
  return context.memory_only ? "memory only" : "memory and time";
}

std::string budget_of(const RunContext& context) {
  return context.budget_bytes ? format_size(*context.budget_bytes) : "none";
}

/// Seed and job are left out: a resumed run keeps its own.
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
  const Parts parts = parts_of(shards);
  Run merged;
  std::vector<PlannedCase> planned = take_planned_cases(parts);
  for (const auto& [index, part] : parts) std::vector<PlannedCase>().swap(part->run.context.planned);
  merged.context = parts.begin()->second->run.context;
  merged.context.shard.reset();
  merged.context.reference = {};
  merged.context.planned = std::move(planned);
  std::unordered_map<std::string_view, Observation*> observations;
  std::vector<std::string> hosts;
  for (const auto& [index, part] : parts) {
    const RunContext& context = part->run.context;
    for (Observation& observation : part->run.observations) {
      observations.emplace(observation.case_name, &observation);
    }
    add_new(merged.context.warnings, context.warnings);
    add_new(hosts, {context.host_name});
    merged.context.date = std::min(merged.context.date, context.date);
    // Facts that differ between the machines of the shards are unknown for the merged run.
    if (merged.context.device_memory_bytes != context.device_memory_bytes)
      merged.context.device_memory_bytes.reset();
    if (merged.context.largest_allocation_bytes != context.largest_allocation_bytes)
      merged.context.largest_allocation_bytes.reset();
    if (merged.context.clocks != context.clocks) merged.context.clocks = {};
    std::erase_if(merged.context.environment, [&](const auto& entry) {
      const auto other = context.environment.find(entry.first);
      return other == context.environment.end() || other->second != entry.second;
    });
  }
  merged.context.host_name.clear();
  for (const std::string& host : hosts)
    merged.context.host_name += (merged.context.host_name.empty() ? "" : "+") + host;
  std::vector<Observation*> in_order;  // all are found before the first is moved: the keys are their names
  in_order.reserve(merged.context.planned.size());
  for (const PlannedCase& planned : merged.context.planned) in_order.push_back(observations.at(planned.name));
  merged.observations.reserve(in_order.size());
  for (Observation* const one : in_order) merged.observations.push_back(std::move(*one));
  merged.context.id = id_of_merged(parts, merged.context.date);
  merged.context.complete = true;
  return merged;
}

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
      {"--budget", budget_of(one), budget_of(other)},
      {"number of rounds", rounds_of(one), rounds_of(other)},
  };
  for (const RunDifference& candidate : candidates) {
    if (candidate.one != candidate.other) return candidate;
  }
  return std::nullopt;
}

}  // namespace peakmark

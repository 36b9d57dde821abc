// The exported functions of libpeakmark-memory. No exception leaves them.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "peakmark/memory_abi.h"
#include "record/process/process_memory.hpp"
#include "record/profile/call_sites.hpp"
#include "record/show/repetition_reports.hpp"

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using peakmark::ProcessMemory;
using Use = ProcessMemory::Use;

constexpr const char* kTooLateAdvice =
    ": register device memory before the first call into it, or run the whole program by `peakmark record -- "
    "PROGRAM`";

/// Destroyed when the process ends, which removes its profile.
ProcessMemory& memory() {
  static ProcessMemory of_process;
  static const int registered =
      pthread_atfork([] { of_process.lock_for_fork(); }, [] { of_process.unlock_after_fork(); },
                     [] { of_process.unlock_after_fork(); });
  static_cast<void>(registered);
  return of_process;
}

/// Returns a copy of the text that is never freed.
const char* kept(const std::string& text) {
  static std::mutex lock;
  static auto* const texts = new std::set<std::string>;
  const std::lock_guard held(lock);
  return texts->insert(text).first->c_str();
}

/// Returns the folder of the recorders: installed ones are in lib/peakmark, and this library is in lib.
fs::path folder_of_recorders() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&peakmark_memory_load), &info) == 0) return "peakmark";
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  return (error ? fs::path(info.dli_fname) : library).parent_path() / "peakmark";
}

/// Runs `body`. Returns NULL, or the reason for its failure.
template <typename Body>
const char* guarded(const Body& body) {
  try {
    body();
    return nullptr;
  } catch (const peakmark::RecorderTooLateError& error) {
    return kept(std::string(error.what()) + kTooLateAdvice);
  } catch (const std::exception& error) {
    return kept(error.what());
  } catch (...) {
    return "an exception of unknown type was thrown";
  }
}

/// Runs `body`, which returns the JSON for `answer`.
template <typename Body>
int answered(const char** answer, const Body& body) {
  thread_local std::string text;
  int status = PEAKMARK_MEMORY_OK;
  try {
    // A text that was truncated within a character is not UTF-8.
    text = body().dump(-1, ' ', false, json::error_handler_t::replace);
  } catch (const peakmark::NoRecorderError& error) {
    status = PEAKMARK_MEMORY_NO_RECORDER;
    text = error.what();
  } catch (const peakmark::RecorderTooLateError& error) {
    status = PEAKMARK_MEMORY_TOO_LATE;
    text = error.what();
  } catch (const std::exception& error) {
    status = PEAKMARK_MEMORY_FAILED;
    text = error.what();
  } catch (...) {
    status = PEAKMARK_MEMORY_FAILED;
    text = "an exception of unknown type was thrown";
  }
  *answer = text.c_str();
  return status;
}

/// The site of each call stack, by the text of the stack. A site depends on all stacks of the lists, a call
/// chain does not.
struct Place {
  std::string site;
  std::string chain;
};
using Sites = std::map<std::string, Place>;

/// Returns the sites of all call stacks of a region, computed together for all its lists.
Sites name_sites(const peakmark::RegionLists& lists) {
  std::map<std::string, double> bytes;
  for (const auto* const list : {&lists.at_peak, &lists.live_at_peak, &lists.since_at_peak, &lists.left}) {
    for (const peakmark::RegionGroup& one : *list) bytes[one.stack] += static_cast<double>(one.bytes);
  }
  for (const peakmark::RegionRefusal& one : lists.refused) bytes.try_emplace(one.stack);
  std::vector<peakmark::WeighedChain> chains;
  for (const auto& [stack, weight] : bytes) {
    chains.push_back(
        {peakmark::site_frames(peakmark::caller_frames(peakmark::parse_stack(stack, nullptr))), weight});
  }
  const auto places = peakmark::name_sites(chains);
  Sites sites;
  std::size_t i = 0;
  for (const auto& [stack, weight] : bytes) {
    sites[stack] = {peakmark::site_text(chains[i].frames, places[i]), peakmark::call_chain(stack, nullptr)};
    ++i;
  }
  return sites;
}

/// A group or refusal, whose `stack` is the site, with one of its call chains.
template <typename One>
struct Placed {
  One one;
  std::string chain;
};

/// Merges groups or refusals that differ only in parts of the call stack beyond the site. The largest come
/// first.
template <typename One, typename Key>
std::vector<Placed<One>> by_site(const std::vector<One>& list, const Sites& sites, const Key& key) {
  std::vector<Placed<One>> merged;
  std::map<decltype(key(list.front())), std::size_t> places;
  for (One one : list) {
    const Place& place = sites.at(one.stack);
    one.stack = place.site;
    const auto [found, is_new] = places.try_emplace(key(one), merged.size());
    if (is_new) {
      merged.push_back({std::move(one), place.chain});
      continue;
    }
    One& same = merged[found->second].one;
    if constexpr (std::is_same_v<One, peakmark::RegionGroup>) {
      same.bytes += one.bytes;
      same.largest_bytes = std::max(same.largest_bytes, one.largest_bytes);
    }
    same.count += one.count;
  }
  std::ranges::stable_sort(merged, std::ranges::greater(),
                           [](const auto& placed) { return placed.one.bytes; });
  return merged;
}

json to_json(const std::vector<peakmark::RegionGroup>& groups, const Sites& sites) {
  const auto key = [](const peakmark::RegionGroup& one) {
    return std::tuple(one.name, one.kind, one.phase, one.stack, one.is_child);
  };
  json list = json::array();
  for (const auto& [one, chain] : by_site(groups, sites, key)) {
    list.push_back({{"name", one.name},
                    {"kind", peakmark::to_string(one.kind)},
                    {"phase", one.phase},
                    {"site", one.stack},
                    {"where", chain},
                    {"child", one.is_child},
                    {"bytes", one.bytes},
                    {"count", one.count},
                    {"largest_bytes", one.largest_bytes}});
  }
  return list;
}

json to_json(const std::vector<peakmark::RegionRefusal>& refused, const Sites& sites) {
  const auto key = [](const peakmark::RegionRefusal& one) {
    return std::tuple(one.bytes, one.kind, one.error, one.phase, one.stack, one.is_child);
  };
  json list = json::array();
  for (const auto& [one, chain] : by_site(refused, sites, key)) {
    const std::string_view name = peakmark::allocation_error_name(one.error);
    list.push_back({{"bytes", one.bytes},
                    {"kind", peakmark::to_string(one.kind)},
                    {"error", one.error},
                    {"error_name", name.empty() ? json() : json(name)},
                    {"phase", one.phase},
                    {"site", one.stack},
                    {"child", one.is_child},
                    {"count", one.count}});
  }
  return list;
}

json to_json(const peakmark::RegionResult& result) {
  const peakmark::RegionFigures& figures = result.figures;
  const peakmark::RegionLists& lists = result.lists.value();
  const Sites sites = name_sites(lists);
  json beside = json::object();
  json by_kind = json::object();
  for (const auto& [kind, bytes] : lists.peaks_by_kind) {
    by_kind[peakmark::to_string(kind)] = bytes;
    if (!peakmark::counts_into_peak(kind)) beside[peakmark::to_string(kind)] = bytes;
  }
  json timeline = json::array();
  for (const peakmark::LivePoint& point : lists.timeline)
    timeline.push_back(json::array({point.time_ns, point.live_bytes}));
  return {{"recorded", result.is_recorded},
          {"peak_bytes", figures.peak_bytes},
          {"live_at_start_bytes", figures.live_at_start_bytes},
          {"live_peak_bytes", figures.live_peak_bytes},
          {"peak_since_bytes", figures.peak_since_bytes},
          {"left_bytes", figures.left_bytes},
          {"allocations", figures.allocations},
          {"total_bytes", figures.total_bytes},
          {"failed_allocations", figures.failed_allocations},
          {"pool_reserved_peak_bytes",
           lists.pool_reserved_peak_bytes ? json(*lists.pool_reserved_peak_bytes) : json()},
          {"beside_the_peak", std::move(beside)},
          {"by_kind", std::move(by_kind)},
          {"repetitions", json(peakmark::repetitions_json(result.repetitions))},
          {"notes", result.notes},
          {"refused", to_json(lists.refused, sites)},
          {"at_peak", to_json(lists.at_peak, sites)},
          {"live_at_peak", to_json(lists.live_at_peak, sites)},
          {"since_at_peak", to_json(lists.since_at_peak, sites)},
          {"left", to_json(lists.left, sites)},
          {"timeline", std::move(timeline)}};
}

}  // namespace

extern "C" {

const char* peakmark_memory_load() {
  return guarded([] { memory().load(Use::benchmarks, folder_of_recorders(), false, false); });
}

const char* peakmark_memory_begin(std::uint64_t* region) {
  return guarded([&] { *region = memory().begin(Use::benchmarks, {}); });
}

const char* peakmark_memory_end(std::uint64_t region, peakmark_memory_use* use) {
  return guarded([&] {
    const peakmark::RegionFigures seen = memory().end(Use::benchmarks, region).figures;
    *use = {seen.live_peak_bytes, seen.live_at_start_bytes, seen.live_bytes,
            seen.total_bytes,     seen.allocations,         seen.failed_allocations};
  });
}

int peakmark_memory_request(int sync, int stacks, const char** answer) {
  return answered(answer, [&] {
    memory().load(Use::windows, folder_of_recorders(), sync != 0, stacks != 0);
    json variables = json::object();
    for (const char* const name : {"PEAKMARK_PROFILE", "PEAKMARK_SYNC", "PEAKMARK_STACKS", "OPENCL_LAYERS",
                                   "OCL_ICD_FILENAMES", "CUDA_INJECTION64_PATH"}) {
      if (const char* const value = std::getenv(name)) variables[name] = value;
    }
    return variables;
  });
}

int peakmark_memory_require(const char** answer) {
  return answered(answer, [] { return json{{"recorders", memory().require_recorded(Use::windows)}}; });
}

int peakmark_memory_region_begin(std::uint64_t since, int timeline, const char** answer) {
  return answered(answer, [&] {
    ProcessMemory::RegionOptions options{.since = std::nullopt,
                                         .has_timeline = (timeline & 1) != 0,
                                         .keeps_events = (timeline & PEAKMARK_MEMORY_REPETITIONS) != 0};
    if (since != PEAKMARK_MEMORY_NO_REGION) options.since = since;
    return json{{"region", memory().begin(Use::windows, options)}};
  });
}

int peakmark_memory_region_end(std::uint64_t region, const char** answer) {
  return answered(answer, [&] { return to_json(memory().end(Use::windows, region)); });
}

}  // extern "C"

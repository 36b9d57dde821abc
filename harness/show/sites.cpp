#include "show/sites.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>

#include "show/elf_symbols.hpp"

namespace peakmark {
namespace {

/// Returns the kind of the frames by which sites differ: Python's if there are any.
CallFrame::Kind telling_kind(const std::vector<CallFrame>& chain) {
  const bool python =
      std::ranges::any_of(chain, [](const CallFrame& one) { return one.kind == CallFrame::Kind::python; });
  return python ? CallFrame::Kind::python : CallFrame::Kind::native;
}

/// The frames by which a chain is grouped: Python's innermost, then the native one that they called; without
/// Python the innermost native ones, and why there is no Python.
std::vector<std::string> key_of(const std::vector<CallFrame>& chain, std::size_t frames) {
  const CallFrame::Kind wanted = telling_kind(chain);
  const bool python = wanted == CallFrame::Kind::python;
  std::vector<std::string> key;
  for (const CallFrame& frame : chain) {
    if (frame.kind == wanted && key.size() < frames) key.push_back(text_of(frame));
  }
  for (const CallFrame& frame : chain) {
    if (frame.kind == CallFrame::Kind::remark) key.push_back(text_of(frame));
  }
  if (python && chain.front().kind == CallFrame::Kind::native) key.push_back(text_of(chain.front()));
  return key;
}

/// Returns the texts of the frames by which sites differ, innermost first.
std::vector<std::string> telling_frames(const std::vector<CallFrame>& chain) {
  const CallFrame::Kind wanted = telling_kind(chain);
  std::vector<std::string> frames;
  for (const CallFrame& frame : chain) {
    if (frame.kind == wanted) frames.push_back(text_of(frame));
  }
  return frames;
}

}  // namespace

std::map<std::uint64_t, std::vector<CallFrame>> without_wrappers(
    std::map<std::uint64_t, std::vector<CallFrame>> stacks) {
  constexpr int kMaxWrappers = 16;  // deeper than that a program is not made of wrappers
  for (int skipped = 0; skipped < kMaxWrappers; ++skipped) {
    std::map<std::string, std::set<std::vector<std::string>>> chains;  // by their innermost frame
    for (const auto& [id, chain] : stacks) {
      std::vector<std::string> frames = telling_frames(chain);
      if (!frames.empty()) chains[std::string(frames.front())].insert(std::move(frames));
    }
    std::size_t all = 0;
    for (const auto& [frame, with_callers] : chains) all += with_callers.size();
    const auto wrapper = std::ranges::find_if(
        chains, [&](const auto& one) { return one.second.size() > 1 && 2 * one.second.size() > all; });
    if (wrapper == chains.end()) break;
    for (auto& [id, chain] : stacks) {
      const std::vector<std::string> frames = telling_frames(chain);
      if (frames.size() < 2 || frames.front() != wrapper->first) continue;
      chain.erase(std::ranges::find(chain, telling_kind(chain), &CallFrame::kind));
    }
  }
  return stacks;
}

std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const LedgerSummary& summary,
                                                              const Symbols& symbols) {
  std::map<std::uint64_t, std::vector<CallFrame>> stacks;
  // Of what is shown: a long program has many more, and each needs the files of its libraries.
  const auto add = [&](std::uint64_t stack) {
    const auto text = summary.stacks.find(stack);
    if (text == summary.stacks.end()) return;
    const auto [place, is_new] = stacks.try_emplace(stack);
    if (is_new) place->second = caller_frames(parse_stack(text->second, symbols));
  };
  for (const Allocation& one : summary.at_peak) add(one.stack);
  for (const Allocation& one : summary.leaked) add(one.stack);
  for (const RefusedAllocation& one : summary.refused) add(one.stack);
  return stacks;
}

std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const RecordedProcess& process,
                                                              const LedgerSummary& summary) {
  ElfSymbols symbols(process.header.start_realtime_ns);
  return caller_stacks(
      summary, [&](const std::string& file, std::uint64_t offset) { return symbols.function(file, offset); });
}

std::vector<Site> sites_of(const std::vector<Allocation>& allocations,
                           const std::map<std::uint64_t, std::vector<CallFrame>>& stacks,
                           std::size_t frames) {
  std::map<std::uint64_t, std::vector<std::string>> keys;  // of each stack once: allocations are many
  std::map<std::vector<std::string>, Site> by_key;
  for (const Allocation& allocation : allocations) {
    const auto [key, is_new] = keys.try_emplace(allocation.stack);
    if (is_new) {
      if (const auto stack = stacks.find(allocation.stack); stack != stacks.end()) {
        key->second = key_of(stack->second, frames);
      }
    }
    Site& site = by_key[key->second];
    site.bytes += allocation.bytes;
    site.largest_bytes = std::max(site.largest_bytes, allocation.bytes);
    ++site.count;
  }
  std::vector<Site> sites;
  for (auto& [key, site] : by_key) {
    site.frames = key;
    sites.push_back(std::move(site));
  }
  std::stable_sort(sites.begin(), sites.end(),
                   [](const Site& a, const Site& b) { return a.bytes > b.bytes; });
  return sites;
}

std::vector<RefusedAllocation> refused_by_site(const RecordedProcess& process, const LedgerSummary& summary,
                                               std::size_t frames) {
  if (summary.refused.empty() || summary.stacks.empty()) return summary.refused;
  LedgerSummary refused_only;
  refused_only.refused = summary.refused;
  refused_only.stacks = summary.stacks;
  const auto stacks = caller_stacks(process, refused_only);
  std::vector<RefusedAllocation> by_site;
  std::map<
      std::tuple<Size, MemoryKind, std::int32_t, std::string, std::uint64_t, std::vector<std::string>, bool>,
      std::size_t>
      places;
  for (RefusedAllocation one : summary.refused) {
    if (const auto stack = stacks.find(one.stack); stack != stacks.end()) {
      one.frames = key_of(stack->second, frames);
      one.stack = 0;
    }
    const auto [place, is_new] = places.try_emplace(
        {one.bytes, one.kind, one.error, one.phase, one.stack, one.frames, one.by_budget}, by_site.size());
    if (is_new) {
      by_site.push_back(std::move(one));
    } else {
      by_site[place->second].count += one.count;
    }
  }
  return by_site;
}

std::vector<RefusedAllocation> refused_by_site(const RecordedTree& tree, std::size_t frames) {
  std::vector<RefusedAllocation> all;
  for (const RecordedProcess& process : tree.processes) {
    std::ranges::move(refused_by_site(process, summarise(process.events), frames), std::back_inserter(all));
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &RefusedAllocation::bytes);
  return all;
}

}  // namespace peakmark

#include "show/sites.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

#include "show/elf_symbols.hpp"

namespace peakmark {
namespace {

bool is_python(const CallFrame& frame) {
  return frame.kind == CallFrame::Kind::python;
}

bool has_python(const std::vector<CallFrame>& chain) {
  return std::ranges::any_of(chain, is_python);
}

void add_texts(std::vector<std::string>& texts, const std::vector<CallFrame>& frames, std::size_t max) {
  for (std::size_t i = 0; i < std::min(frames.size(), max); ++i) texts.push_back(text_of(frames[i]));
}

/// The native frames of a chain that Python called; the innermost if a user recognises none.
std::vector<CallFrame> native_of_site(const std::vector<CallFrame>& chain) {
  std::vector<CallFrame> native = native_frames(chain);
  if (native.empty() && !chain.empty() && chain.front().kind == CallFrame::Kind::native)
    native.push_back(chain.front());
  return native;
}

/// The frames by which a chain is grouped: Python's innermost, then the native ones that they called; without
/// Python the innermost native ones, and why there is no Python.
std::vector<std::string> key_of(const std::vector<CallFrame>& chain, std::size_t frames, bool with_own_line) {
  std::vector<CallFrame> python;
  std::ranges::copy_if(chain, std::back_inserter(python), is_python);
  const std::vector<CallFrame> native = native_of_site(chain);
  std::vector<std::string> key;
  if (python.empty()) add_texts(key, native, frames);
  add_texts(key, python, frames);
  if (const CallFrame* const own = with_own_line ? own_frame(chain) : nullptr) {
    if (std::string text = text_of(*own); std::ranges::find(key, text) == key.end()) key.push_back(text);
  }
  for (const CallFrame& frame : chain) {
    if (frame.kind == CallFrame::Kind::remark) key.push_back(text_of(frame));
  }
  if (!python.empty()) add_texts(key, native, frames);
  return key;
}

/// A chain with the frames of one kind that its site is found from.
struct SiteChain {
  std::vector<CallFrame>* chain;
  std::vector<CallFrame> frames;
  double bytes;
};

/// Erases the wrappers among the frames of these chains.
void erase_wrappers(const std::vector<SiteChain>& all) {
  std::vector<WeighedChain> chains;
  for (const SiteChain& one : all) {
    chains.push_back({{}, one.bytes});
    add_texts(chains.back().frames, one.frames, one.frames.size());
  }
  const std::vector<std::size_t> wrappers = count_wrappers(chains);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t frame = 0; frame < wrappers[i]; ++frame)
      all[i].chain->erase(std::ranges::find(*all[i].chain, all[i].frames[frame]));
  }
}

}  // namespace

std::map<std::uint64_t, double> bytes_by_stack(const LedgerSummary& summary) {
  std::map<std::uint64_t, double> bytes;
  for (const auto* const list : {&summary.at_peak, &summary.leaked}) {
    for (const Allocation& one : *list) bytes[one.stack] += static_cast<double>(one.bytes);
  }
  return bytes;
}

std::map<std::uint64_t, std::vector<CallFrame>> without_wrappers(
    std::map<std::uint64_t, std::vector<CallFrame>> stacks, const std::map<std::uint64_t, double>& bytes) {
  std::vector<SiteChain> lines;   // lines of Python, else native frames
  std::vector<SiteChain> called;  // native frames that Python called
  for (auto& [id, chain] : stacks) {
    const auto weight = bytes.find(id);
    SiteChain one{&chain, native_frames(chain), weight == bytes.end() ? 0 : weight->second};
    if (has_python(chain)) {
      called.push_back(one);
      one.frames.clear();
      std::ranges::copy_if(chain, std::back_inserter(one.frames), is_python);
    }
    lines.push_back(std::move(one));
  }
  erase_wrappers(lines);
  erase_wrappers(called);
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
                           const std::map<std::uint64_t, std::vector<CallFrame>>& stacks, std::size_t frames,
                           bool with_own_line) {
  std::map<std::uint64_t, std::vector<std::string>> keys;  // of each stack once: allocations are many
  std::map<std::vector<std::string>, Site> by_key;
  for (const Allocation& allocation : allocations) {
    const auto [key, is_new] = keys.try_emplace(allocation.stack);
    if (is_new) {
      if (const auto stack = stacks.find(allocation.stack); stack != stacks.end()) {
        key->second = key_of(stack->second, frames, with_own_line);
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
                                               std::size_t frames, bool skips_wrappers) {
  if (summary.refused.empty() || summary.stacks.empty()) return summary.refused;
  auto stacks = caller_stacks(process, summary);
  if (skips_wrappers) stacks = without_wrappers(std::move(stacks), bytes_by_stack(summary));
  std::vector<RefusedAllocation> by_site;
  std::map<
      std::tuple<Size, MemoryKind, std::int32_t, std::string, std::uint64_t, std::vector<std::string>, bool>,
      std::size_t>
      places;
  for (RefusedAllocation one : summary.refused) {
    if (const auto stack = stacks.find(one.stack); stack != stacks.end()) {
      one.frames = key_of(stack->second, frames, false);
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

#include "record/profile/call_sites.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace peakmark {
namespace {

using Places = std::vector<std::size_t>;

/// Returns whether frames of a package are only in between: the interpreter, its library, and scripts and
/// modules that start a program.
bool is_between(std::string_view package) {
  constexpr std::array<std::string_view, 8> kBetween{"python3", "libpython3", "<frozen",   "generated",
                                                     "libc.so", "libpthread", "libstdc++", "libffi"};
  return std::ranges::any_of(kBetween, [&](std::string_view one) { return package.starts_with(one); });
}

Places own_frames(const std::vector<SiteFrame>& frames) {
  Places own;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].package.empty()) own.push_back(i);
  }
  return own;
}

/// Returns the frames that may name the site of a chain, the best first. There is at least one if the chain
/// has frames.
Places candidates(const std::vector<SiteFrame>& frames) {
  if (Places own = own_frames(frames); !own.empty()) return own;
  Places known;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!is_between(frames[i].package)) known.push_back(i);
  }
  if (known.empty()) {
    for (std::size_t i = 0; i < frames.size(); ++i) known.push_back(i);
    return known;
  }
  Places callers;    // the first frame of each further package
  Places innermost;  // frames of the package that allocates
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (frames[known[i]].package == frames[known.front()].package && callers.empty()) {
      innermost.push_back(known[i]);
    } else if (frames[known[i]].package != frames[known[i - 1]].package) {
      callers.push_back(known[i]);
    }
  }
  std::ranges::reverse(callers);
  std::ranges::reverse(innermost);
  callers.insert(callers.end(), innermost.begin(), innermost.end());
  return callers;
}

/// Returns how many of the first texts of each chain are wrappers. The last text of a chain is never a
/// wrapper.
std::vector<std::size_t> count_wrappers(const std::vector<std::vector<std::string>>& chains,
                                        const std::vector<double>& bytes) {
  constexpr std::size_t kMaxWrappers = 16;  // real programs have fewer nested wrappers
  struct Through {
    std::set<std::vector<std::string>> chains;
    double bytes = 0;
  };
  std::vector<std::size_t> counts(chains.size(), 0);
  double all_bytes = 0;
  for (const double one : bytes) all_bytes += one;
  for (std::size_t skipped = 0; skipped < kMaxWrappers; ++skipped) {
    std::map<std::string, Through> first_frames;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      if (chains[i].empty()) continue;
      const auto first = chains[i].begin() + static_cast<std::ptrdiff_t>(counts[i]);
      Through& through = first_frames[*first];
      through.chains.emplace(first, chains[i].end());
      through.bytes += bytes[i];
    }
    std::size_t all = 0;
    for (const auto& [frame, through] : first_frames) all += through.chains.size();
    const auto wrapper = std::ranges::find_if(first_frames, [&](const auto& one) {
      const Through& through = one.second;
      return through.chains.size() > 1 && (through.chains.size() > all - through.chains.size() ||
                                           through.bytes > all_bytes - through.bytes);
    });
    if (wrapper == first_frames.end()) break;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      if (counts[i] + 1 < chains[i].size() && chains[i][counts[i]] == wrapper->first) ++counts[i];
    }
  }
  return counts;
}

std::size_t count_equal(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [first, second] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(std::distance(a.begin(), first));
}

std::vector<std::string> texts(const std::vector<SiteFrame>& frames, const Places& places) {
  std::vector<std::string> all;
  for (const std::size_t place : places) all.push_back(frames[place].text);
  return all;
}

/// If sites have equal names, adds to each the outermost inner frame that distinguishes their chains.
void distinguish(const std::vector<WeighedChain>& chains, std::vector<Places>& sites) {
  /// The chains of a site, by their frames from the site inwards.
  using Inside = std::map<std::vector<std::string>, std::vector<std::size_t>>;
  std::map<std::vector<std::string>, Inside> by_name;
  std::vector<Places> inside(chains.size());
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const std::vector<SiteFrame>& frames = chains[i].frames;
    if (sites[i].empty()) continue;
    for (std::size_t place = sites[i].front(); place-- > 0;) {
      if (!is_between(frames[place].package)) inside[i].push_back(place);
    }
    by_name[texts(frames, sites[i])][texts(frames, inside[i])].push_back(i);
  }
  for (const auto& [name, paths] : by_name) {
    for (auto one = paths.begin(); one != paths.end() && paths.size() > 1; ++one) {
      // In the map's order, the chain with the longest common beginning is a neighbour.
      std::size_t equal = 0;
      if (one != paths.begin()) equal = count_equal(one->first, std::prev(one)->first);
      if (std::next(one) != paths.end())
        equal = std::max(equal, count_equal(one->first, std::next(one)->first));
      if (equal == one->first.size()) continue;
      for (const std::size_t chain : one->second)
        sites[chain].insert(sites[chain].begin(), inside[chain][equal]);
    }
  }
}

/// Returns the indices of the innermost native frames, of the innermost Python lines, and of the first line
/// of the user's own code.
Places innermost_frames(const std::vector<SiteFrame>& frames, std::size_t max) {
  std::set<std::size_t> places;
  std::size_t python = 0;
  std::size_t native = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if ((frames[i].is_python ? python : native)++ < max) places.insert(i);
  }
  const auto own = std::ranges::find_if(
      frames, [](const SiteFrame& frame) { return frame.is_python && frame.package.empty(); });
  if (own != frames.end()) places.insert(static_cast<std::size_t>(own - frames.begin()));
  return {places.begin(), places.end()};
}

/// Reads a frame of call_chain().
SiteFrame parse_frame(std::string_view text) {
  SiteFrame frame{std::string(text), is_python_line(text), ""};
  if (frame.is_python) {
    const std::size_t slash = text.find('/');
    if (slash != std::string_view::npos) frame.package = text.substr(0, slash);
    if (text.starts_with("<frozen")) frame.package = "<frozen";
  } else if (const std::size_t library = text.rfind(" (");
             library != std::string_view::npos && text.ends_with(')')) {
    frame.package = text.substr(library + 2, text.size() - library - 3);
  } else if (const std::size_t offset = text.rfind("+0x");
             offset != std::string_view::npos && text.find(".so") < offset) {
    frame.package = text.substr(0, offset);
  }
  return frame;
}

std::vector<SiteFrame> parse_chain(std::string_view chain) {
  std::vector<SiteFrame> frames;
  while (!chain.empty()) {
    const std::size_t end = std::min(chain.find(kCallerSign), chain.size());
    frames.push_back(parse_frame(chain.substr(0, end)));
    chain.remove_prefix(std::min(end + kCallerSign.size(), chain.size()));
  }
  return frames;
}

}  // namespace

std::vector<SiteFrame> site_frames(const std::vector<CallFrame>& chain) {
  std::vector<CallFrame> frames = native_frames(chain);
  if (frames.empty() && !chain.empty() && chain.front().kind == CallFrame::Kind::native)
    frames.push_back(chain.front());
  std::ranges::copy_if(chain, std::back_inserter(frames),
                       [](const CallFrame& frame) { return frame.kind == CallFrame::Kind::python; });
  std::vector<SiteFrame> shown;
  shown.reserve(frames.size());
  for (const CallFrame& frame : frames)
    shown.push_back({text_of(frame), frame.kind == CallFrame::Kind::python, package_of(frame)});
  return shown;
}

std::vector<std::vector<std::size_t>> name_sites(const std::vector<WeighedChain>& chains,
                                                 std::size_t frames) {
  std::vector<Places> sites(chains.size());
  if (frames > 0) {
    for (std::size_t i = 0; i < chains.size(); ++i) sites[i] = innermost_frames(chains[i].frames, frames);
    return sites;
  }
  std::vector<Places> possible(chains.size());
  std::vector<std::vector<std::string>> names;
  std::vector<double> bytes;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    possible[i] = candidates(chains[i].frames);
    names.push_back(texts(chains[i].frames, possible[i]));
    bytes.push_back(chains[i].bytes);
  }
  const std::vector<std::size_t> wrappers = count_wrappers(names, bytes);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const std::vector<SiteFrame>& all = chains[i].frames;
    if (possible[i].empty()) continue;
    sites[i].push_back(possible[i][wrappers[i]]);
    if (all[sites[i].front()].is_python) continue;
    const auto line = std::ranges::find_if(
        possible[i], [&](std::size_t place) { return all[place].is_python && all[place].package.empty(); });
    if (line != possible[i].end()) sites[i].push_back(*line);
  }
  distinguish(chains, sites);
  return sites;
}

std::string site_text(const std::vector<SiteFrame>& frames, const std::vector<std::size_t>& places) {
  std::string text;
  for (const std::size_t place : places) {
    if (!text.empty()) text += kCallerSign;
    text += frames[place].text;
  }
  return text;
}

std::map<std::string, std::string> short_call_sites(const std::map<std::string, double>& chains,
                                                    std::size_t frames) {
  std::vector<WeighedChain> all;
  all.reserve(chains.size());
  for (const auto& [chain, bytes] : chains) all.push_back({parse_chain(chain), bytes});
  const std::vector<Places> sites = name_sites(all, frames);
  std::map<std::string, std::string> by_chain;
  std::size_t i = 0;
  for (const auto& [chain, bytes] : chains) {
    by_chain[chain] = site_text(all[i].frames, sites[i]);
    ++i;
  }
  return by_chain;
}

std::string own_lines(const std::string& chain) {
  constexpr std::size_t kMaxLines = 4;
  const std::vector<SiteFrame> frames = parse_chain(chain);
  Places own = own_frames(frames);
  if (own.empty()) return short_call_sites({{chain, 1}}).at(chain);
  own.resize(std::min(own.size(), kMaxLines));
  return site_text(frames, own);
}

}  // namespace peakmark

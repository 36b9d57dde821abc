#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/private_text.hpp"
#include "base/program.hpp"
#include "embedded_files.hpp"
#include "record/ledger/pool_usage.hpp"
#include "record/ledger/timeline.hpp"
#include "record/show/profile_reports.hpp"
#include "record/show/sites.hpp"

namespace peakmark {
namespace {

/// A node of the flame graph while it is built, with its children by name.
struct GrowingNode {
  Size bytes = 0;
  std::int64_t count = 0;
  std::map<std::string, GrowingNode> children;

  void add(Size more) {
    bytes += more;
    ++count;
  }
};

std::vector<std::string> path_of(const Allocation& allocation,
                                 const std::map<std::uint64_t, std::vector<CallFrame>>& stacks) {
  std::vector<std::string> path;
  if (stacks.empty()) {
    if (!allocation.phase.empty()) path.push_back(allocation.phase);
    path.emplace_back(to_string(allocation.kind));
    if (!allocation.name.empty()) path.push_back(allocation.name);
    return path;
  }
  const auto stack = stacks.find(allocation.stack);
  if (stack == stacks.end()) {
    path.emplace_back("(no stack recorded)");
  } else {
    for (auto frame = stack->second.rbegin(); frame != stack->second.rend(); ++frame) {
      path.push_back(text_of(*frame));
    }
  }
  path.push_back(allocation.name.empty() ? to_string(allocation.kind) : allocation.name);
  return path;
}

FlameNode finished(const std::string& name, const GrowingNode& node, Size least) {
  FlameNode done{name, node.bytes, node.count, {}};
  FlameNode small;
  std::size_t smaller = 0;
  for (const auto& [child_name, child] : node.children) {
    if (child.bytes >= least) {
      done.children.push_back(finished(child_name, child, least));
    } else {
      small.bytes += child.bytes;
      small.count += child.count;
      ++smaller;
    }
  }
  std::ranges::stable_sort(done.children, std::greater<>(), &FlameNode::bytes);
  if (smaller != 0) {
    small.name = fmt::format("({} smaller)", smaller);
    done.children.push_back(std::move(small));
  }
  return done;
}

}  // namespace

FlameNode flame_graph(const std::vector<Allocation>& allocations,
                      const std::map<std::uint64_t, std::vector<CallFrame>>& stacks, Size part) {
  GrowingNode root;
  for (const Allocation& allocation : allocations) {
    root.add(allocation.bytes);
    GrowingNode* node = &root;
    for (const std::string& name : path_of(allocation, stacks)) {
      node = &node->children[name];
      node->add(allocation.bytes);
    }
  }
  return finished("all", root, std::max<Size>(root.bytes / part, 1));
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxPoints = 8000;  // four per pixel of a wide screen
constexpr std::size_t kMaxPhases = 2000;
constexpr Size kSmallestPart =
    4000;  // the flame graph omits parts below this fraction (1/4000) of the bytes at the peak

Json flame_json(const FlameNode& node) {
  Json::array_t children;
  for (const FlameNode& child : node.children) children.push_back(flame_json(child));
  return {
      {"name", node.name}, {"bytes", node.bytes}, {"count", node.count}, {"children", std::move(children)}};
}

/// Returns `[name, from, to]` of each phase that is long enough to be visible.
Json phases_json(const LedgerSummary& summary, std::int64_t zero_ns, std::int64_t end_ns,
                 std::size_t& left_out) {
  Json::array_t list;
  const bool all = summary.phases.size() <= kMaxPhases;
  const std::int64_t shortest = all ? 0 : (end_ns - zero_ns) / static_cast<std::int64_t>(kMaxPhases);
  for (std::size_t i = 0; i < summary.phases.size(); ++i) {
    const std::int64_t from = summary.phases[i].start_time_ns;
    const std::int64_t to = i + 1 < summary.phases.size() ? summary.phases[i + 1].start_time_ns : end_ns;
    if (to - from >= shortest) {
      list.push_back({summary.phases[i].name, from - zero_ns, to - zero_ns});
    } else {
      ++left_out;
    }
  }
  return list;
}

Json timeline_json(const std::vector<LivePoint>& points) {
  Json::array_t times;
  Json::array_t live;
  for (const LivePoint& point : points) {
    times.push_back(point.time_ns - points.front().time_ns);
    live.push_back(point.live_bytes);
  }
  return {{"times_ns", std::move(times)}, {"live_bytes", std::move(live)}};
}

/// Returns the bytes that pools hold over time; null if they are unknown.
Json pools_json(const RecordedProcess& process, std::int64_t zero_ns) {
  const std::optional<PoolUsage> usage = pool_usage(process.events, kMaxPoints);
  if (!usage) return nullptr;
  Json::array_t times;
  Json::array_t held;
  Json::array_t requested;
  for (const PoolPoint& point : usage->over_time) {
    times.push_back(point.time_ns - zero_ns);
    held.push_back(point.held_bytes);
    requested.push_back(point.requested_bytes);
  }
  return {{"times_ns", std::move(times)},
          {"held_bytes", std::move(held)},
          {"requested_bytes", std::move(requested)}};
}

/// Returns the timeline of all processes together; null if there is only one.
Json tree_json(const RecordedTree& tree) {
  if (tree.processes.size() == 1) return nullptr;
  return {{"timeline", timeline_json(live_over_time(merge_by_time(tree), kMaxPoints))},
          {"phases", Json::array()}};
}

Json view_json(const RecordedProcess& process) {
  const LedgerSummary summary = summarise(process.events);
  const auto points = live_over_time(process.events, kMaxPoints);
  const std::int64_t zero_ns = points.empty() ? 0 : points.front().time_ns;
  const std::int64_t end_ns = points.empty() ? 0 : points.back().time_ns;
  const auto stacks = caller_stacks(process, summary);
  std::size_t left_out = 0;
  Json phases = phases_json(summary, zero_ns, end_ns, left_out);
  return {{"pid", process.header.pid},
          {"timeline", timeline_json(points)},
          {"pools", pools_json(process, zero_ns)},
          {"phases", std::move(phases)},
          {"phases_not_drawn", left_out},
          {"flame",
           {{"by", summary.stacks.empty() ? "names" : "stacks"},
            {"root", flame_json(flame_graph(summary.at_peak, stacks, kSmallestPart))}}}};
}

/// Returns JSON for a script element, in which `</script>` and `<!--` would end or change it.
void write_json(const std::string& json, std::ostream& out) {
  for (const char one : json) {
    if (one == '<') {
      out << "\\u003c";
    } else {
      out.put(one);
    }
  }
}

/// Replaces all texts by their public form, because pages are shared with others.
void publish(Json& json, const PrivateTexts& texts) {
  if (json.is_string()) {
    json = public_text(json.get<std::string>(), texts);
  } else if (json.is_structured()) {
    for (Json& item : json) publish(item, texts);
  }
}

}  // namespace

void write_page(const RecordedTree& tree, const ReportOptions& options, std::ostream& out) {
  ReportOptions short_options = options;
  short_options.max_phases = kMaxPhases;
  Json views = Json::array();
  for (const RecordedProcess& process : tree.processes) views.push_back(view_json(process));
  const PrivateTexts texts = private_texts(current_environment());
  Json profile = profile_json(tree, short_options);
  publish(profile, texts);
  publish(views, texts);
  constexpr std::string_view kData = "@DATA@";
  constexpr std::string_view kChart = "@CHART@";
  const std::string_view page = embedded::page_template();
  const std::size_t data = page.find(kData);
  const std::size_t after_data = data + kData.size();
  const std::size_t chart = page.find(kChart, after_data);
  out << page.substr(0, data) << "{\"profile\":";
  write_json(profile.dump(-1, ' ', false, Json::error_handler_t::replace), out);
  out << ",\"views\":";
  write_json(views.dump(-1, ' ', false, Json::error_handler_t::replace), out);
  out << ",\"tree\":";
  write_json(tree_json(tree).dump(), out);
  out << "}" << page.substr(after_data, chart - after_data) << embedded::chart_js()
      << page.substr(chart + kChart.size());
}

}  // namespace peakmark

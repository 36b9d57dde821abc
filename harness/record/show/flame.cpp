#include "record/show/flame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

}  // namespace peakmark

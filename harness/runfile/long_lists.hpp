#pragma once

// For .cpp files only, after json_fields.hpp.
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runfile/json_fields.hpp"

namespace peakmark::json_fields {

/// A list of a document that may have millions of elements.
struct LongList {
  std::vector<std::string> keys;  ///< that lead to it; none: the document is the list
  std::function<void(const Json& element)> take;
};

/// Parses a document. Each object in one of `lists` goes to its `take` and is dropped: the result has those
/// lists without their objects. A document of 100,000 cases would take gigabytes as one value, and nlohmann's
/// parser with a callback goes over a whole list at the end of each object in it. `input`: as Json::parse.
template <typename Input>
Json parse_with_long_lists(Input&& input, std::span<const LongList> lists) {
  std::size_t deepest = 0;
  for (const LongList& list : lists) deepest = std::max(deepest, list.keys.size());
  std::vector<std::string> keys;  // of the objects that are open; empty for a list
  return Json::parse(std::forward<Input>(input), [&](int depth, Json::parse_event_t event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::key && level <= deepest) {
      keys.resize(level);
      keys.back() = parsed.get_ref<const std::string&>();
    }
    // The keys of a list, and the level of the list itself, lead to an element.
    if (event != Json::parse_event_t::object_end || level == 0 || level > deepest + 1) return true;
    for (const LongList& list : lists) {
      if (list.keys.size() + 1 != level) continue;
      if (!std::ranges::equal(list.keys, std::span(keys).first(std::min(keys.size(), list.keys.size()))))
        continue;
      list.take(parsed);
      return false;
    }
    return true;
  });
}

}  // namespace peakmark::json_fields

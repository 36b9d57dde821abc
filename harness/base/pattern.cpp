#include "base/pattern.hpp"

#include <regex>

#include "base/error.hpp"

namespace peakmark {

struct Pattern::Compiled {
  std::regex regex;
};

Pattern::Pattern(const std::string& expression, Letters letters) {
  auto flags = std::regex::ECMAScript | std::regex::optimize;
  if (letters == Letters::any_case) flags |= std::regex::icase;
  try {
    compiled_ = std::make_shared<const Compiled>(Compiled{std::regex(expression, flags)});
  } catch (const std::regex_error& error) {
    throw UsageError(error.what());
  }
}

bool Pattern::matches(const std::string& text) const {
  return std::regex_match(text, compiled_->regex);
}

bool Pattern::is_in(const std::string& text) const {
  return std::regex_search(text, compiled_->regex);
}

std::optional<Pattern::Groups> Pattern::groups(const std::string& text) const {
  std::smatch parts;
  if (!std::regex_match(text, parts, compiled_->regex)) return std::nullopt;
  Groups groups;
  groups.reserve(parts.size());
  for (const auto& part : parts) groups.push_back(part.matched ? std::optional(part.str()) : std::nullopt);
  return groups;
}

}  // namespace peakmark

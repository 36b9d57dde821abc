#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analyse/trend/reports.hpp"
#include "base/error.hpp"

namespace peakmark::trend {
namespace {

constexpr std::string_view kPlaceholder = "{commit}";

}  // namespace

void check_commit_url(const std::string& url) {
  const bool is_web = url.starts_with("https://") || url.starts_with("http://");
  std::string rest = url;
  const std::size_t place = rest.find(kPlaceholder);
  if (place != std::string::npos) rest.erase(place, kPlaceholder.size());
  const bool is_plain = std::ranges::all_of(rest, [](unsigned char c) {
    return c > ' ' && c < 0x7F &&
           std::string_view("\"'<>()[]{}\\|`").find(static_cast<char>(c)) == std::string_view::npos;
  });
  if (is_web && place != std::string::npos && is_plain) return;
  throw UsageError(fmt::format(
      "'{}': not an address of commits; write one such as https://github.com/OWNER/PROJECT/commit/{{commit}}",
      url));
}

std::string commit_link(const std::string& url, const std::string& commit) {
  const std::string_view hash = std::string_view(commit).substr(0, commit.find('+'));
  const bool is_hash = !hash.empty() && std::ranges::all_of(hash, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
  const std::size_t place = url.find(kPlaceholder);
  if (!is_hash || place == std::string::npos) return {};
  std::string link = url;
  return link.replace(place, kPlaceholder.size(), hash);
}

}  // namespace peakmark::trend

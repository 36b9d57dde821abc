#include "history/place.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/error.hpp"

namespace peakmark::history {
namespace {

/// `user:secret@` becomes `user@`.
void hide_user_password(std::string& url) {
  const std::size_t start = url.find("://") + 3;
  const std::size_t at = url.find('@', start);
  if (at == std::string::npos || url.find('/', start) < at) return;
  const std::size_t colon = url.find(':', start);
  if (colon < at) url.erase(colon, at - colon);
}

/// `?password=secret&host=h` becomes `?password=…&host=h`.
void hide_parameter(std::string& url, std::string_view name) {
  for (std::size_t found = url.find('?'); (found = url.find(name, found)) != std::string::npos; ++found) {
    if (url[found - 1] != '?' && url[found - 1] != '&') continue;
    const std::size_t start = found + name.size();
    url.replace(start, url.find('&', start) - start, "…");
  }
}

}  // namespace

std::string Place::name() const {
  if (kind == Kind::sqlite) return file.string();
  std::string shown = url;
  hide_user_password(shown);
  hide_parameter(shown, "password=");
  hide_parameter(shown, "sslpassword=");
  return shown;
}

Place parse_place(const std::string& text) {
  if (text.empty()) throw UsageError("the history has no name: write a file or postgresql://…");
  Place place;
  if (text.starts_with("postgresql://") || text.starts_with("postgres://")) {
    place.kind = Place::Kind::postgresql;
    place.url = text;
    return place;
  }
  const std::size_t scheme = text.find("://");
  if (scheme != std::string::npos && text.find('/') == scheme + 1) {
    throw UsageError(fmt::format("a history of {} is not known: write a file name (SQLite) or postgresql://…",
                                 text.substr(0, scheme)));
  }
  if (text.find('"') != std::string::npos) {
    throw UsageError(fmt::format("{}: a history's file name holds no quotation marks", text));
  }
  place.file = text;
  return place;
}

}  // namespace peakmark::history

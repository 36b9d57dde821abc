#include "history/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <regex>
#include <string_view>

#include "base/error.hpp"

namespace peakmark::history {
namespace {

constexpr const char* kHidden = "postgresql://…";

/// A URL whose parts cannot be taken for each other: what separates them is escaped elsewhere. 1: the scheme;
/// 2: the user; 3: the password; 4: hosts and database; 5: parameters.
const std::regex& url_form() {
  static const std::string host = R"((?:\[[0-9a-f:.%]*\]|[^\[\]/?#@:,\s]*)(?::\d*)?)";
  static const std::string parameter = R"([^=&?#\s]+=[^&?#\s]*)";
  static const std::regex form(
      fmt::format(
          R"((postgres(?:ql)?://)(?:([^:/?#@\s]*)(?::([^:/?#@\s]*))?@)?({0}(?:,{0})*(?:/[^/?#@\s]*)?))"
          R"((?:\?({1}(?:&{1})*)?)?)",
          host, parameter),
      std::regex::icase);
  return form;
}

bool is_url(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

/// Parameters of libpq that hold nothing secret; of others the value is not shown.
bool is_shown(std::string_view parameter) {
  constexpr auto kShown = std::to_array<std::string_view>(
      {"host", "hostaddr", "port", "user", "dbname", "sslmode", "application_name", "connect_timeout"});
  return std::ranges::find(kShown, parameter) != kShown.end();
}

/// `user=me&password=secret` becomes `user=me&password=…`.
std::string shown_parameters(std::string_view parameters) {
  std::string shown;
  while (!parameters.empty()) {
    const std::string_view one = parameters.substr(0, parameters.find('&'));
    parameters.remove_prefix(std::min(parameters.size(), one.size() + 1));
    const std::string_view name = one.substr(0, one.find('='));
    shown += shown.empty() ? "" : "&";
    shown += is_shown(name) || name.size() == one.size() ? std::string(one) : std::string(name) + "=…";
  }
  return shown;
}

std::string shown_url(const std::string& url) {
  std::smatch parts;
  if (!std::regex_match(url, parts, url_form())) return kHidden;
  std::string shown = parts[1].str();
  if (parts[2].matched) shown += parts[2].str() + "@";
  shown += parts[4].str();
  if (parts[5].matched) shown += "?" + shown_parameters(parts[5].str());
  return shown;
}

}  // namespace

std::string Place::name() const {
  return kind == Kind::sqlite ? file.string() : shown_url(url);
}

std::string Place::connection_text() const {
  const std::size_t path_end = std::min(url.find('?'), url.size());
  std::string parameters = "application_name=peakmark";
  // libpq itself waits for as long as the system does: for minutes where a host drops packets.
  if (std::getenv("PGCONNECT_TIMEOUT") == nullptr) parameters += "&connect_timeout=10";
  if (path_end + 1 < url.size()) parameters += "&" + url.substr(path_end + 1);
  return url.substr(0, path_end) + "?" + parameters;
}

std::string without_passwords(std::string text) {
  for (const std::string_view scheme : {"postgresql://", "postgres://"}) {
    for (std::size_t at = 0; (at = text.find(scheme, at)) != std::string::npos;) {
      std::size_t end = std::min(text.find_first_of(" \t\r\n\"'`", at), text.size());
      while (end > at && std::string_view(",;:.)").find(text[end - 1]) != std::string_view::npos) --end;
      const std::string shown = shown_url(text.substr(at, end - at));
      text.replace(at, end - at, shown);
      at += shown.size();
    }
  }
  return text;
}

void hide_password_of_argument(char* argument) {
  if (!is_url(argument) && std::string_view(argument).find("=postgres") == std::string_view::npos) return;
  const std::string whole(argument);
  const std::size_t start = whole.find("://");
  if (start == std::string::npos) return;
  const std::string url = whole.substr(whole.rfind("postgres", start));
  if (!is_url(url) || shown_url(url) == url) return;
  // The name of the database is kept from sight too: where a password ends is not certain.
  for (char* letter = argument + start + 3; *letter != '\0'; ++letter) *letter = '*';
}

Place parse_place(const std::string& text) {
  if (text.empty()) throw UsageError("the history has no name: write a file or postgresql://…");
  Place place;
  if (is_url(text)) {
    if (!std::regex_match(text, url_form())) {
      throw UsageError(
          "postgresql://…: not a URL of PostgreSQL: write postgresql://user:password@host:5432/database, and "
          "in "
          "user and password %2F for /, %40 for @, %3A for :, %3F for ?, %23 for #, %25 for %");
    }
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

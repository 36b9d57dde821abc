#include "analyse/history/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/pattern.hpp"

namespace peakmark::history {
namespace {

constexpr const char* kHidden = "postgresql://…";

/// Matches URLs whose parts are unambiguous, because separators within them are escaped. Groups: 1 scheme, 2
/// user, 3 password, 4 hosts and database, 5 parameters.
const Pattern& url_form() {
  static const std::string host = R"((?:\[[0-9a-f:.%]*\]|[^\[\]/?#@:,\s]*)(?::\d*)?)";
  static const std::string parameter = R"([^=&?#\s]+=[^&?#\s]*)";
  static const Pattern form(
      fmt::format(
          R"((postgres(?:ql)?://)(?:([^:/?#@\s]*)(?::([^:/?#@\s]*))?@)?({0}(?:,{0})*(?:/[^/?#@\s]*)?))"
          R"((?:\?({1}(?:&{1})*)?)?)",
          host, parameter),
      Pattern::Letters::any_case);
  return form;
}

bool is_url(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

/// Returns true for parameters of libpq that are not secret. The values of others are hidden.
bool is_shown(std::string_view parameter) {
  constexpr auto kShown = std::to_array<std::string_view>(
      {"host", "hostaddr", "port", "user", "dbname", "sslmode", "application_name", "connect_timeout"});
  return std::ranges::find(kShown, parameter) != kShown.end();
}

/// Returns `user=me&password=…` for `user=me&password=secret`.
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
  const std::optional<Pattern::Groups> parts = url_form().groups(url);
  if (!parts) return kHidden;
  const Pattern::Groups& part = *parts;
  std::string shown = part[1].value();
  if (part[2]) shown += *part[2] + "@";
  shown += part[4].value();
  if (part[5]) shown += "?" + shown_parameters(*part[5]);
  return shown;
}

}  // namespace

std::string Address::name() const {
  return kind == Kind::sqlite ? file.string() : shown_url(url);
}

std::string Address::connection_text() const {
  const std::size_t path_end = std::min(url.find('?'), url.size());
  std::string parameters = "application_name=peakmark";
  // libpq has no default timeout: it waits for minutes if a host drops packets.
  if (std::getenv("PGCONNECT_TIMEOUT") == nullptr) parameters += "&connect_timeout=10";
  // libpq also does not notice that a host disappears during a transaction; with these settings it does after
  // one to two minutes.
  parameters += "&keepalives_idle=60&keepalives_interval=10&keepalives_count=3&tcp_user_timeout=60000";
  if (path_end + 1 < url.size()) parameters += "&" + url.substr(path_end + 1);
  return url.substr(0, path_end) + "?" + parameters;
}

std::string hide_passwords(std::string text) {
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
  // Hides the database, too, because the end of a password is ambiguous.
  for (char* letter = argument + start + 3; *letter != '\0'; ++letter) *letter = '*';
}

Address parse_address(const std::string& text) {
  if (text.empty()) throw UsageError("no history named: write a file or postgresql://…");
  Address address;
  if (is_url(text)) {
    if (!url_form().matches(text)) {
      throw UsageError(
          "postgresql://…: malformed URL: write postgresql://user:password@host:5432/database, and in user "
          "and "
          "password %2F for /, %40 for @, %3A for :, %3F for ?, %23 for #, %25 for %");
    }
    address.kind = Address::Kind::postgresql;
    address.url = text;
    return address;
  }
  const std::size_t scheme = text.find("://");
  if (scheme != std::string::npos && text.find('/') == scheme + 1) {
    throw UsageError(fmt::format("unsupported scheme: {}; write a file name (SQLite) or postgresql://…",
                                 text.substr(0, scheme)));
  }
  // It is opened by its absolute path in a connection text, where a quotation mark would end the path.
  if (std::filesystem::absolute(text).string().find('"') != std::string::npos) {
    throw UsageError(fmt::format(
        "{}: quotation marks are not allowed in the path of a history; name a file in another folder", text));
  }
  address.file = text;
  return address;
}

}  // namespace peakmark::history

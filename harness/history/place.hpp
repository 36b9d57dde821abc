#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace peakmark::history {

/// Where a history is kept.
struct Place {
  enum class Kind : std::uint8_t { sqlite, postgresql };
  Kind kind = Kind::sqlite;
  std::filesystem::path file;  ///< of SQLite
  std::string url;             ///< of PostgreSQL, as libpq takes it, password and all

  /// For messages: the file, or the URL without its password.
  [[nodiscard]] std::string name() const;
  /// For SOCI: the URL with our defaults before its own parameters, of which libpq takes the last. A
  /// connection is given up after 10 s, unless the URL or PGCONNECT_TIMEOUT says otherwise.
  [[nodiscard]] std::string connection_text() const;
};

/// `text` of a message with the passwords of all URLs in it hidden.
std::string without_passwords(std::string text);

/// Overwrites a URL with a password in an argument of this process, which everybody can read in /proc.
void hide_password_of_argument(char* argument);

/// A file name, or `postgresql://user@host/database` (also `postgres://`). UsageError where it is empty, of
/// another scheme, or a URL whose password cannot be separated from the rest.
Place parse_place(const std::string& text);

}  // namespace peakmark::history

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace peakmark::history {

/// The address of a history: an SQLite file or a PostgreSQL URL.
struct Address {
  enum class Kind : std::uint8_t { sqlite, postgresql };
  Kind kind = Kind::sqlite;
  std::filesystem::path file;  ///< of SQLite
  std::string url;             ///< of PostgreSQL, for libpq, including the password

  /// Returns the file, or the URL without its password, for messages.
  [[nodiscard]] std::string name() const;
  /// Returns the URL for SOCI, with our defaults before its own parameters: libpq uses the last of equal
  /// parameters. Connecting times out after 10 s, unless the URL or PGCONNECT_TIMEOUT sets another limit.
  [[nodiscard]] std::string connection_text() const;
};

/// Returns `text` with the passwords of all URLs hidden.
std::string hide_passwords(std::string text);

/// Overwrites a URL with a password in an argument of this process, because all users can read it in /proc.
void hide_password_of_argument(char* argument);

/// Parses a file name or `postgresql://user@host/database` (also `postgres://`). Throws UsageError if it is
/// empty, has another scheme, or is a URL whose password cannot be separated from the rest.
Address parse_address(const std::string& text);

}  // namespace peakmark::history

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
};

/// A file name, or `postgresql://user@host/database` (also `postgres://`). UsageError where it is empty or of
/// another scheme.
Place parse_place(const std::string& text);

}  // namespace peakmark::history

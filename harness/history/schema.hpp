#pragma once

#include <optional>

#include "history/database.hpp"

namespace peakmark::history {

/// The version that this peakmark reads and writes; docs/formats.md has the tables.
inline constexpr int kSchemaVersion = 3;

/// What bring_up_to_date() did.
struct Migration {
  int from = kSchemaVersion;  ///< 0: there was no history
};

/// Makes the tables where there are none (for `write`), or brings those of an earlier version up to date.
/// Several processes may do so at once. UsageError: of a newer version; `read` and there is no history; a
/// database of something else.
Migration bring_up_to_date(Database& database, Access access);

}  // namespace peakmark::history

#pragma once

// For .cpp files, and headers that only they include: nlohmann's header takes seconds to compile.

#if defined(__OPTIMIZE__) && !defined(JSON_ASSERT)
// The assertions check all children whenever a value is moved: a fifth of the time of a command on a large
// run.
#define JSON_ASSERT(condition) static_cast<void>(0)
#endif
#include <nlohmann/json.hpp>

namespace peakmark {

/// The version of a file format. A reader rejects another MAJOR. MINOR increases with additions, which older
/// readers ignore. docs/formats.md lists them.
struct FormatVersion {
  int major = 1;
  int minor = 0;
};

namespace format {
inline constexpr FormatVersion kRunFile{1, 0};
inline constexpr FormatVersion kBaseline{1, 0};
inline constexpr FormatVersion kTrends{1, 0};
inline constexpr FormatVersion kNotification{1, 0};
inline constexpr FormatVersion kVerdicts{1, 0};
inline constexpr FormatVersion kComparison{1, 0};
inline constexpr FormatVersion kBisection{1, 0};
inline constexpr FormatVersion kProfileSummary{1, 0};
inline constexpr FormatVersion kRepeatedPeaks{1, 0};
inline constexpr FormatVersion kCases{1, 0};
inline constexpr FormatVersion kEstimate{1, 0};
inline constexpr FormatVersion kDevices{1, 0};
inline constexpr FormatVersion kFindings{1, 0};
}  // namespace format

}  // namespace peakmark

#pragma once

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

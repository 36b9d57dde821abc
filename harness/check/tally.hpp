#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "check/judge.hpp"

namespace peakmark {

/// How many cases have each judgement, and why: what the first line of every output counts.
class Tally {
 public:
  /// `reason` may be empty.
  void add(Judgement judgement, const std::string& reason);
  /// A case that judge() judged: by its worst verdict.
  void add(const JudgedCase& sweep_case);

  [[nodiscard]] std::size_t cases() const;
  [[nodiscard]] std::size_t count(Judgement judgement) const;
  /// How many cases of a judgement have each reason.
  [[nodiscard]] const std::map<std::string, std::size_t>& reasons(Judgement judgement) const;

 private:
  std::map<Judgement, std::map<std::string, std::size_t>> counts_;
};

/// Why a case is counted as it is, in a word or two: `unsupported`, `granularity`, `crashed`, `missing`; of
/// what fails the rule. Empty for a pass.
std::string reason_of(const JudgedCase& sweep_case);

/// `187 cases: 178 pass, 2 as expected (2 out_of_memory), 1 skipped (1 unsupported), 3 counted (3
/// granularity), 3 fail (2 window_bytes, 1 leak)`
std::string headline(const Tally& tally);

}  // namespace peakmark

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/check/judge.hpp"

namespace peakmark {

using JunitProperties = std::vector<std::pair<std::string, std::string>>;

/// A test of a JUnit file. Texts may have any bytes.
struct JunitTest {
  enum class Result : std::uint8_t { passed, skipped, failed, error };

  std::string name;
  std::string class_name;
  Result result = Result::passed;
  std::string type = {};     ///< of a failure or an error: what failed, in a word
  std::string message = {};  ///< why it was skipped or failed; of a passed test its output
  std::string details = {};  ///< of a failure or an error
  std::optional<double> seconds = {};
  JunitProperties properties = {};
};

/// A test suite of a JUnit file.
struct JunitSuite {
  std::string name;
  std::vector<JunitTest> tests;
  std::string date = {};  ///< empty: unknown, as the host
  std::string host = {};
  JunitProperties properties = {};
  std::string output = {};
};

/// `error` is a failed measurement; a warning passes.
JunitTest::Result junit_result(Judgement judgement);
/// Returns `padding.coords1d` for `padding/coords1d`: viewers group by dots.
std::string junit_class_name(std::string variant);

/// Returns a JUnit file with one test suite. Its time is the sum of the times of tests that have one.
std::string junit_text(const JunitSuite& suite);

}  // namespace peakmark

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace peakmark {

/// A test of a JUnit file. Texts may have any bytes.
struct JunitTest {
  enum class Result : std::uint8_t { passed, skipped, failed };

  std::string name;
  std::string class_name;
  Result result = Result::passed;
  std::string type = {};     ///< of a failure: what failed, in a word
  std::string message = {};  ///< why it was skipped or failed; of a passed test its output
  std::string details = {};  ///< of a failure
};

/// Returns a JUnit file with one test suite.
std::string junit_text(const std::string& suite, const std::vector<JunitTest>& tests);

}  // namespace peakmark

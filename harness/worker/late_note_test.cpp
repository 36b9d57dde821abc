#include "worker/late_note.hpp"

#include <gtest/gtest.h>

#include <future>

namespace peakmark {
namespace {

TEST(LateNote, SaysWhatIsWaitedForWhenItIsLate) {
  std::promise<std::string> said;
  const LateNote note(
      "the estimator", [&](const std::string& text) { said.set_value(text); }, std::chrono::milliseconds(0));
  EXPECT_EQ(said.get_future().get(), "the estimator");
}

TEST(LateNote, SaysNothingOfWhatComesInTime) {
  bool said = false;
  {
    const LateNote note(
        "the estimator", [&](const std::string&) { said = true; }, std::chrono::hours(1));
  }
  EXPECT_FALSE(said);
}

}  // namespace
}  // namespace peakmark

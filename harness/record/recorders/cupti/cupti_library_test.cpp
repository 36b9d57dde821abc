// The order in which libcupti libraries are tried.
#include "record/recorders/cupti/cupti_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

/// $CUDA_HOME with copies of the fake libraries, named libcupti.so.13 and libcupti.so.12. The machine may
/// have other libraries, which are tried first.
class CuptiLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(lib_);
    std::filesystem::copy_file(PEAKMARK_FAKE_CUPTI_13, newest_);
    std::filesystem::copy_file(PEAKMARK_FAKE_CUPTI_12, older_);
    setenv("CUDA_HOME", folder_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("CUDA_HOME"); }

  /// Tries all libraries, of which only `good` is accepted.
  bool load(const std::string& good, CuptiAttempt otherwise = CuptiAttempt::refused) {
    const auto attempt = [&](const CuptiLibrary&, const std::string& path, std::string& why) {
      tried_.push_back(path);
      why = "error 999";
      return path == good ? CuptiAttempt::taken : otherwise;
    };
    return load_cupti(library_, attempt, reason_);
  }
  [[nodiscard]] std::ptrdiff_t place_of(const std::string& path) const {
    return std::ranges::find(tried_, path) - tried_.begin();
  }

  TemporaryFolder folder_;
  std::filesystem::path lib_ = folder_.path() / "lib64";
  std::string newest_ = lib_ / "libcupti.so.13";
  std::string older_ = lib_ / "libcupti.so.12";
  std::vector<std::string> tried_;
  CuptiLibrary library_;
  std::string reason_;
};

TEST_F(CuptiLibraryTest, ARefusalOfTheNewestTriesTheNext) {
  EXPECT_TRUE(load(older_)) << reason_;
  EXPECT_EQ(tried_.back(), older_);
  EXPECT_LT(place_of(newest_), place_of(older_));
  EXPECT_NE(library_.subscribe, nullptr);
}

TEST_F(CuptiLibraryTest, TheFirstSuccessIsTheLastAttempt) {
  EXPECT_TRUE(load(newest_)) << reason_;
  EXPECT_EQ(tried_.back(), newest_);
}

TEST_F(CuptiLibraryTest, AllRefusalsAreReported) {
  EXPECT_FALSE(load("none"));
  EXPECT_THAT(reason_, HasSubstr(newest_ + ": error 999; " + older_ + ": error 999"));
  EXPECT_EQ(library_.subscribe, nullptr);
}

TEST_F(CuptiLibraryTest, AnotherSubscriberEndsTheSearch) {
  EXPECT_FALSE(load("none", CuptiAttempt::hopeless));
  EXPECT_EQ(tried_.size(), 1U);
  EXPECT_EQ(reason_, "error 999");
}

}  // namespace
}  // namespace peakmark

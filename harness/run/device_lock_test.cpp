#include "run/device_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace peakmark {
namespace {

DeviceInfo device(const std::string& name) {
  DeviceInfo info;
  info.backend = Backend::opencl;
  info.name = name + std::to_string(::getpid());
  return info;
}

struct GaveUp : std::runtime_error {
  GaveUp() : std::runtime_error("gave up") {}
};

/// Lock files stay, so that no run removes the one another waits for: these go with their test's folder.
class DeviceLockTest : public testing::Test {
 protected:
  DeviceLockTest() { setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~DeviceLockTest() override {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before_.c_str(), 1);
    }
  }

 private:
  const std::string before_ = std::getenv("TMPDIR") == nullptr ? "" : std::getenv("TMPDIR");
  const TemporaryFolder folder_;
};

TEST_F(DeviceLockTest, AFolderForTemporaryFilesThatIsNoneIsAMistake) {
  setenv("TMPDIR", "/proc/version", 1);
  try {
    const DeviceLock lock(
        device("a device"), [](const std::string&) {}, [] {});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("TMPDIR=/proc/version: is no folder"),
                                             testing::HasSubstr("TMPDIR names another")));
  }
}

TEST_F(DeviceLockTest, KeepsTwoRunsApart) {
  int waited = 0;
  const auto waiting = [&](const std::string& path) {
    ++waited;
    EXPECT_NE(path.find("a_device"), std::string::npos) << path;
  };
  const auto give_up = [] { throw GaveUp(); };
  {
    const DeviceLock first(device("a device"), waiting, give_up);
    EXPECT_EQ(waited, 0);
    EXPECT_THROW(DeviceLock(device("a device"), waiting, give_up), GaveUp);
    EXPECT_EQ(waited, 1);
    const DeviceLock other(device("another device"), waiting, give_up);
  }
  const DeviceLock again(device("a device"), waiting, give_up);
  EXPECT_EQ(waited, 1);
}

TEST_F(DeviceLockTest, AWaitingRunGoesOnWhenTheDeviceIsFree) {
  std::optional<DeviceLock> first;
  first.emplace(
      device("a device"), [](const std::string&) {}, [] {});
  const DeviceLock second(
      device("a device"), [](const std::string&) {}, [&] { first.reset(); });
}

TEST_F(DeviceLockTest, DryNeedsNone) {
  DeviceInfo dry = device("dry");
  dry.backend = Backend::dry;
  const auto give_up = [] { throw GaveUp(); };
  const DeviceLock first(
      dry, [](const std::string&) {}, give_up);
  const DeviceLock second(
      dry, [](const std::string&) {}, give_up);
}

}  // namespace
}  // namespace peakmark

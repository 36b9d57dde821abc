#include "measure/supervise/device_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

DeviceInfo gpu(const std::string& pci, Backend backend = Backend::opencl) {
  DeviceInfo info;
  info.backend = backend;
  info.name = "A GPU";
  info.platform = "A driver";
  info.pci = pci;
  return info;
}

DeviceInfo cpu(const std::string& name = "cpu-x") {
  DeviceInfo info = gpu("");
  info.name = name;
  info.is_cpu = true;
  return info;
}

struct GaveUp : std::runtime_error {
  GaveUp() : std::runtime_error("gave up") {}
};

/// A variable of the environment that is set as long as this object lives; null: it is unset.
class Variable {
 public:
  Variable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  void set(const char* value) const {
    if (value == nullptr) {
      ::unsetenv(name_.c_str());
    } else {
      ::setenv(name_.c_str(), value, 1);
    }
  }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

/// Lock files are kept, so that no run removes a file that another one waits for. These are removed with the
/// test's folder.
class DeviceLockTest : public testing::Test {
 protected:
  /// Returns whether a second run on `two` waits for a run on `one`.
  bool exclude(const DeviceInfo& one, const DeviceInfo& two, const DeviceLockOptions& options = {}) {
    const DeviceLock first(one, options, note(), give_up);
    try {
      const DeviceLock second(two, options, note(), give_up);
      return false;
    } catch (const GaveUp&) {
      return true;
    }
  }
  std::function<void(const std::string&)> note() {
    return [this](const std::string& holder) { waited_for_.push_back(holder); };
  }
  static void give_up() { throw GaveUp(); }

  const TemporaryFolder folder_;
  const Variable temporary_{"TMPDIR", folder_.path().c_str()};
  const Variable runtime_{"XDG_RUNTIME_DIR", nullptr};
  std::vector<std::string> waited_for_;
};

TEST_F(DeviceLockTest, OneGpuIsOneDeviceUnderEachBackendAndIndex) {
  DeviceInfo hidden = gpu("0000:3b:00", Backend::cuda);  // as CUDA_VISIBLE_DEVICES numbers it
  hidden.index = 3;
  hidden.name = "The same GPU";
  EXPECT_TRUE(exclude(gpu("0000:3b:00"), hidden));
  EXPECT_FALSE(exclude(gpu("0000:3b:00"), gpu("0000:3c:00"))) << "two alike in one machine";
  EXPECT_TRUE(exclude(gpu(""), gpu(""))) << "without an address";
}

TEST_F(DeviceLockTest, AllCpuDevicesAreOne) {
  EXPECT_TRUE(exclude(cpu("cpu-haswell"), cpu("basic")));
}

TEST_F(DeviceLockTest, RunsThatDoNotDisturbEachOtherTakeNone) {
  EXPECT_FALSE(exclude(cpu(), cpu(), {"", true}));
  EXPECT_TRUE(exclude(gpu("0000:3b:00"), gpu("0000:3b:00"), {"", true})) << "memory of a GPU is shared";
  EXPECT_FALSE(exclude(gpu("", Backend::dry), gpu("", Backend::dry)));
}

TEST_F(DeviceLockTest, AWaitNamesTheHolder) {
  EXPECT_TRUE(exclude(cpu(), cpu(), {"suites/nightly.toml"}));
  EXPECT_THAT(waited_for_, ElementsAre(AllOf(HasSubstr("process " + std::to_string(::getpid()) +
                                                       " measures suites/nightly.toml on it since 20"),
                                             HasSubstr("cpu.lock"))));
}

TEST_F(DeviceLockTest, NoWaitEndsAtOnceAndNamesTheHolder) {
  const DeviceLock first(cpu(), {"nightly.toml"}, note(), give_up);
  try {
    const DeviceLock second(cpu(), {"other.toml", false, true}, note(), give_up);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("measures nightly.toml"));
  }
  EXPECT_THAT(waited_for_, testing::IsEmpty());
}

TEST_F(DeviceLockTest, AWaitingRunGoesOnWhenTheDeviceIsFree) {
  std::optional<DeviceLock> first;
  first.emplace(cpu(), DeviceLockOptions{}, note(), give_up);
  const DeviceLock second(cpu(), {}, note(), [&] { first.reset(); });
  EXPECT_EQ(waited_for_.size(), 1U);
}

TEST_F(DeviceLockTest, TheFolderIsTheUsersOwn) {
  namespace fs = std::filesystem;
  const fs::path own = fs::path(folder_.path()) / ("peakmark-" + std::to_string(::geteuid()));
  EXPECT_EQ(lock_folder(), own);
  struct stat status {};
  ASSERT_EQ(::stat(own.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);

  ::chmod(own.c_str(), 0770);
  EXPECT_THROW(lock_folder(), EnvironmentError) << "others may write into it";
  fs::remove(own);
  fs::create_directory_symlink(folder_.path(), own);
  EXPECT_THROW(lock_folder(), EnvironmentError) << "a link may lead anywhere";

  const TemporaryFolder runtime;
  ::chmod(runtime.path().c_str(), 0700);
  runtime_.set(runtime.path().c_str());
  EXPECT_EQ(lock_folder(), fs::path(runtime.path()) / "peakmark");
}

TEST_F(DeviceLockTest, AFolderForTemporaryFilesThatIsNoneIsAMistake) {
  temporary_.set("/proc/version");
  try {
    const DeviceLock lock(cpu(), {}, note(), give_up);
    FAIL();
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("TMPDIR=/proc/version: is not a folder"),
                                    HasSubstr("set TMPDIR to another")));
  }
}

}  // namespace
}  // namespace peakmark

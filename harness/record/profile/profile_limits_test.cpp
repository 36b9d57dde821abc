// Profiles on full disks and with limits.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>

#include "record/profile/profile_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

TEST_F(Profile, LimitOnFileSizesEndsTheRecordingNotTheProgram) {
  const std::string messages = folder_.path() / "messages";
  pid_t child = fork();
  if (child == 0) {
    const rlimit limit{3 << 20, 3 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int log = open(messages.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(log, STDERR_FILENO);
    if (!writer_.open(base().c_str(), "test 1")) _exit(1);
    for (std::uint64_t i = 0; i < 60'000; ++i) writer_.release(i);
    writer_.close();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const std::string path = base() + "." + std::to_string(child);
  ProfileReader reader(path);
  constexpr std::uint64_t kRoom = 3 * 16384 - 64;
  EXPECT_EQ(reader.events().size(), kRoom);
  EXPECT_EQ(reader.header().lost, 60'000 - kRoom);
  EXPECT_FALSE(reader.complete());
  std::ifstream file(messages);
  const std::string said(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_THAT(said, HasSubstr(path));
  EXPECT_THAT(said, HasSubstr("ulimit -f"));
}

TEST_F(Profile, TheMaximumSizeEndsTheRecording) {
  const std::string messages = folder_.path() / "messages";
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(messages.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    setenv("PEAKMARK_PROFILE", base().c_str(), 1);
    setenv("PEAKMARK_MAX_BYTES", std::to_string((2 << 20) + 5).c_str(), 1);
    if (!writer_.open_from_environment("test 1")) _exit(1);
    for (std::uint64_t i = 0; i < 60'000; ++i) writer_.release(i);
    writer_.close();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const std::string path = base() + "." + std::to_string(child);
  EXPECT_EQ(std::filesystem::file_size(path), std::uintmax_t{2} << 20);
  ProfileReader reader(path);
  EXPECT_EQ(reader.events().size(), 2U * 16384 - 64);
  EXPECT_EQ(reader.lost_events(), 60'000U - (2 * 16384 - 64));
  EXPECT_EQ(reader.header().stop_error, EOVERFLOW);
  std::ifstream file(messages);
  EXPECT_THAT(
      std::string(std::istreambuf_iterator<char>(file), {}),
      HasSubstr(path +
                " stops here: it has its maximum size (--max-size, at most 64 GiB); raise --max-size"));
}

TEST_F(Profile, NoSpaceForTheHeaderMeansNoRecording) {
  const std::string at = base();
  EXPECT_EQ(in_child([&] {
              const rlimit limit{4096, 4096};
              setrlimit(RLIMIT_FSIZE, &limit);
              close(STDERR_FILENO);
              const bool opened = writer_.open(at.c_str(), "test 1");
              writer_.release(1);
              writer_.close();
              _exit(opened || writer_.path() != nullptr || writer_.count() != 1 ? 1 : 0);
            }),
            0);
}

TEST_F(Profile, FileThatIsRenamedIsWrittenOn) {
  EXPECT_EQ(in_child([&] {
              close(STDERR_FILENO);
              if (!writer_.open(base().c_str(), "test 1")) _exit(1);
              std::filesystem::rename(own(), base());
              std::ofstream(own()) << "another file";
              for (std::uint64_t i = 0; i < 20'000; ++i) writer_.release(i);
              writer_.close();
              if (std::filesystem::file_size(own()) != 12) _exit(2);
            }),
            0);
  ProfileReader reader(base());
  EXPECT_EQ(reader.events().size(), 20'000U);
  EXPECT_TRUE(reader.complete());
}

constexpr int kCannotMount = 77;

void write_file(const char* path, const std::string& text) {
  std::ofstream(path) << text;
}

/// A disk of 3 MiB at `folder`, for this process alone.
bool mount_small_disk(const std::filesystem::path& folder) {
  const uid_t user = getuid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_file("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder.c_str(), "tmpfs", 0, "size=3m") == 0;
}

/// As on a file system that cannot allocate.
bool refuse_fallocate() {
  std::array<sock_filter, 4> filter{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{filter.size(), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class FullDisk : public Profile, public testing::WithParamInterface<bool> {};

TEST_P(FullDisk, EndsTheRecordingNotTheProgram) {
  const std::filesystem::path disk = folder_.path() / "disk";
  std::filesystem::create_directory(disk);
  const std::string messages = folder_.path() / "messages";
  const int status = in_child([&] {
    if (!mount_small_disk(disk)) _exit(kCannotMount);
    if (!GetParam() && !refuse_fallocate()) _exit(kCannotMount);
    dup2(open(messages.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    const std::string name = disk / "p";
    if (!writer_.open(name.c_str(), "test 1")) _exit(1);
    for (std::uint64_t i = 0; i < 60'000; ++i) writer_.release(i);
    writer_.close();
    constexpr std::uint64_t kOnTheDisk = 3 * 16384 - 64;
    ProfileReader reader(name + "." + std::to_string(getpid()));
    if (reader.events().size() != kOnTheDisk || reader.complete()) _exit(2);
    if (reader.lost_events() != 60'000 - kOnTheDisk) _exit(3);
    if (reader.header().stop_error != ENOSPC) _exit(4);
  });
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "this system mounts no tmpfs in a namespace";
  EXPECT_EQ(status, 0);
  std::ifstream file(messages);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), HasSubstr("the disk is full"));
}

INSTANTIATE_TEST_SUITE_P(WithFallocate, FullDisk, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(WithoutFallocate, FullDisk, testing::Values(false));

TEST_F(Profile, AnUnwritableFolderIsReported) {
  const std::string messages = folder_.path() / "messages";
  EXPECT_EQ(in_child([&] {
              dup2(open(messages.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
              const std::string path = folder_.path() / "none" / "p";
              if (writer_.open(path.c_str(), "test 1")) _exit(1);
            }),
            0);
  std::ifstream file(messages);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace peakmark

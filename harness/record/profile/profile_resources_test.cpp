// What a writer takes of its program: memory, address space, descriptors.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "record/profile/profile_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kManyEvents = 100'000;  // over six extents

/// Bytes of files whose path contains `path` that this process has mapped.
std::uint64_t mapped_bytes(const std::string& path) {
  std::uint64_t bytes = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) == std::string::npos) continue;
    char dash = 0;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::istringstream(line) >> std::hex >> from >> dash >> to;
    bytes += to - from;
  }
  return bytes;
}

std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

bool limit_address_space(std::uint64_t more) {
  const rlimit limit{address_space() + more, RLIM_INFINITY};
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

/// The descriptor under which this process has the file `path` open; -1: none.
int descriptor_of(const std::string& path) {
  for (int descriptor = 0; descriptor < 4096; ++descriptor) {
    char target[4096] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    if (readlink(link.c_str(), target, sizeof(target) - 1) > 0 && path == target) return descriptor;
  }
  return -1;
}

void send_messages_to(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  dup2(file, STDERR_FILENO);
  close(file);
}

class ProfileResources : public Profile {
 protected:
  void write_releases(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) writer_.release(i);
  }

  /// Runs `body` as a program that is recorded, then writes kManyEvents; gives its process id.
  pid_t recorded_after(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      send_messages_to(messages());
      if (!writer_.open(base().c_str(), "test 1")) _exit(1);
      body();
      write_releases(0, kManyEvents);
      writer_.close();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return child;
  }

  void expect_all_recorded(pid_t process) const {
    ProfileReader reader(base() + "." + std::to_string(process));
    EXPECT_TRUE(reader.complete());
    const auto events = reader.events();
    ASSERT_EQ(events.size(), kManyEvents);
    for (std::uint64_t i = 0; i < kManyEvents; ++i) ASSERT_EQ(events[i].address, i);
    EXPECT_EQ(text_of_messages(), "");
  }

  std::string messages() const { return folder_.path() / "messages"; }
  std::string text_of_messages() const {
    std::ifstream file(messages());
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(ProfileResources, AtMostFourMebibytesAreMapped) {
  EXPECT_EQ(in_child([&] {
              if (!writer_.open(base().c_str(), "test 1")) _exit(1);
              for (std::uint64_t i = 0; i < 20; ++i) {
                write_releases(i * 50'000, (i + 1) * 50'000);
                if (mapped_bytes(own()) > std::uint64_t{4} << 20) _exit(2);
              }
              writer_.close();
              ProfileReader reader(own());
              if (!reader.complete() || reader.events().size() != 1'000'000) _exit(3);
            }),
            0);
}

TEST_F(ProfileResources, FourMebibytesOfAddressSpaceAreEnough) {
  expect_all_recorded(recorded_after([] {
    if (!limit_address_space(4 << 20)) _exit(2);
  }));
}

TEST_F(ProfileResources, WithoutAddressSpaceEventsAreWrittenWithoutAMapping) {
  expect_all_recorded(recorded_after([] {
    if (!limit_address_space(0)) _exit(2);
  }));
}

sem_t go_on;
std::atomic<int> stopped{0};

void stop_here(int /*signal*/) {
  ++stopped;
  while (sem_wait(&go_on) != 0) {
  }
}

/// Threads that are stopped anywhere, also between the two halves of an event, each in another extent.
TEST_F(ProfileResources, StoppedThreadsDoNotKeepMoreMapped) {
  EXPECT_EQ(in_child([&] {
              constexpr int kThreads = 5;
              signal(SIGUSR1, stop_here);
              if (!writer_.open(base().c_str(), "test 1")) _exit(1);
              std::atomic<std::uint64_t> written{0};
              for (int turn = 0; turn < 2; ++turn) {
                sem_init(&go_on, 0, 0);
                stopped = 0;
                std::atomic<bool> is_over{false};
                std::vector<std::thread> threads;
                threads.reserve(kThreads);
                for (int t = 0; t < kThreads; ++t) {
                  threads.emplace_back([&] {
                    while (!is_over) {
                      writer_.release(1);
                      ++written;
                    }
                  });
                }
                for (int t = 0; t < kThreads; ++t) {
                  const std::uint64_t before = writer_.count();
                  pthread_kill(threads[static_cast<std::size_t>(t)].native_handle(), SIGUSR1);
                  while (stopped <= t) sched_yield();
                  write_releases(0, 20'000);
                  written += 20'000;
                  if (writer_.count() < before + 20'000) _exit(2);
                  if (mapped_bytes(own()) > std::uint64_t{4} << 20) _exit(3);
                }
                is_over = true;
                for (int t = 0; t < kThreads; ++t) sem_post(&go_on);
                for (std::thread& thread : threads) thread.join();
              }
              writer_.close();
              ProfileReader reader(own());
              if (!reader.complete() || reader.events().size() != written) _exit(4);
            }),
            0);
}

TEST_F(ProfileResources, AForkedChildHasNothingOfItsParentMapped) {
  EXPECT_EQ(in_child([&] {
              if (!writer_.open(base().c_str(), "test 1")) _exit(1);
              write_releases(0, 20'000);
              const std::string parents = own();
              if (in_child([&] {
                    if (mapped_bytes(parents) != 0 || descriptor_of(parents) >= 0) _exit(1);
                    write_releases(0, 20'000);
                    writer_.close();
                    if (ProfileReader(own()).events().size() != 20'000) _exit(2);
                  }) != 0) {
                _exit(2);
              }
              write_releases(20'000, kManyEvents);
              writer_.close();
              if (ProfileReader(own()).events().size() != kManyEvents) _exit(3);
            }),
            0);
}

TEST_F(ProfileResources, AForkAfterTheEndDoesNotReadWhatWasCutOff) {
  EXPECT_EQ(in_child([&] {
              if (!writer_.open(base().c_str(), "test 1")) _exit(1);
              write_releases(0, 10);
              writer_.close();
              if (in_child([] {}) != 0) _exit(2);
            }),
            0);
}

TEST_F(ProfileResources, NoLowDescriptorIsTaken) {
  EXPECT_EQ(in_child([&] {
              const int before = dup(STDIN_FILENO);
              close(before);
              if (!writer_.open(base().c_str(), "test 1")) _exit(1);
              if (dup(STDIN_FILENO) != before) _exit(2);
              const int own_descriptor = descriptor_of(own());
              if (own_descriptor < 100) _exit(3);
              if ((fcntl(own_descriptor, F_GETFD) & FD_CLOEXEC) == 0) _exit(4);
              writer_.close();
              if (descriptor_of(own()) != -1) _exit(5);
            }),
            0);
}

TEST_F(ProfileResources, AProgramAtItsDescriptorLimitIsRecorded) {
  expect_all_recorded(recorded_after([] {
    const rlimit limit{64, 64};
    setrlimit(RLIMIT_NOFILE, &limit);
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
    if (errno != EMFILE) _exit(2);
  }));
}

TEST_F(ProfileResources, AProgramThatClosesAllDescriptorsIsRecorded) {
  expect_all_recorded(recorded_after([] { syscall(SYS_close_range, 3U, ~0U, 0U); }));
}

TEST_F(ProfileResources, AFileOfTheProgramUnderTheDescriptorIsLeftAlone) {
  const std::string other = folder_.path() / "other";
  expect_all_recorded(recorded_after([&] {
    const int descriptor = descriptor_of(own());
    const int file = open(other.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0 || dup2(file, descriptor) < 0) _exit(2);
  }));
  EXPECT_EQ(std::filesystem::file_size(other), 0U);
}

TEST_F(ProfileResources, AProgramThatChangesItsRootAndItsUserIsRecorded) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may change the root folder";
  std::filesystem::create_directory(folder_.path() / "root");
  expect_all_recorded(recorded_after([&] {
    if (chroot((folder_.path() / "root").c_str()) != 0 || chdir("/") != 0) _exit(2);
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
  }));
}

TEST_F(ProfileResources, TheTrueCauseIsReported) {
  const std::filesystem::path root = folder_.path() / "root";
  std::filesystem::create_directory(root);
  const auto close_all = [] { syscall(SYS_close_range, 3U, ~0U, 0U); };
  struct Cause {
    std::function<void()> what;
    int error;
    const char* message;
  };
  const std::vector<Cause> causes = {
      {[&] {
         close_all();
         const rlimit limit{3, 3};
         setrlimit(RLIMIT_NOFILE, &limit);
       },
       EMFILE, "ulimit -n"},
      {[&] {
         close_all();
         std::filesystem::remove(own());
       },
       ENOENT, "No such file or directory"},
      {[&] {
         close_all();
         std::filesystem::rename(own(), root / "moved");
         std::ofstream(own()) << "another file";
       },
       EEXIST, "another file has taken its place"},
  };
  for (const Cause& cause : causes) {
    std::filesystem::remove(messages());
    const pid_t child = recorded_after(cause.what);
    const std::string path = base() + "." + std::to_string(child);
    EXPECT_THAT(text_of_messages(), AllOf(HasSubstr(path), HasSubstr(cause.message)));
    EXPECT_EQ(std::ranges::count(text_of_messages(), '\n'), 1);
    if (cause.error == ENOENT) continue;
    ProfileReader reader(cause.error == EEXIST ? root / "moved" : std::filesystem::path(path));
    EXPECT_EQ(reader.header().stop_error, cause.error);
    EXPECT_EQ(reader.header().lost, kManyEvents - (16384 - 64));
    EXPECT_FALSE(reader.complete());
  }
}

}  // namespace
}  // namespace peakmark

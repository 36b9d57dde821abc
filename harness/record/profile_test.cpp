#include "record/profile.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "record/profile_writer.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

/// A writer that is never destroyed, as in a recorder (0.5 MiB); kept, so that it is no leak.
ProfileWriter& new_writer() {
  static auto& writers = *new std::vector<ProfileWriter*>;
  return *writers.emplace_back(new ProfileWriter);
}

/// Runs `body` in a child, as a recorded program would be; gives its wait status.
int in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

class Profile : public testing::Test {
 protected:
  std::string base() const { return folder_.path() / "p"; }
  std::string own() const { return base() + "." + std::to_string(getpid()); }

  TemporaryFolder folder_;
  ProfileWriter& writer_ = new_writer();
};

TEST_F(Profile, WhatIsWrittenIsRead) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.phase("set-up");
  writer_.allocation(0x1000, 4096, MemoryKind::buffer);
  writer_.name(0x1000, "a name that is longer than the thirty-two bytes of one slot, even than two of them");
  writer_.failed_allocation(std::int64_t{1} << 40, MemoryKind::image, -4);
  writer_.allocation(0x2000, 5, MemoryKind::pool_async, {.auxiliary = 7, .device = 3});
  writer_.pool(0x77, 2048, 1024);
  writer_.release(0x1000);
  writer_.note("done");
  ASSERT_EQ(std::string(writer_.path()), own());

  ProfileReader reader(own());
  const auto events = reader.events();
  ASSERT_EQ(events.size(), 10U);
  EXPECT_EQ(writer_.count(), 10U);
  EXPECT_EQ(events[0].type, EventType::phase);
  EXPECT_EQ(text_of(events, 0), "set-up");
  EXPECT_EQ(events[1].type, EventType::allocation);
  EXPECT_EQ(events[1].address, 0x1000U);
  EXPECT_EQ(events[1].amounts.bytes, 4096);
  EXPECT_EQ(events[1].kind, MemoryKind::buffer);
  EXPECT_EQ(events[1].thread, static_cast<std::uint32_t>(gettid()));
  EXPECT_EQ(text_of(events, 2),
            "a name that is longer than the thirty-two bytes of one slot, even than two of them");
  EXPECT_EQ(events[5].type, EventType::failed_allocation);
  EXPECT_EQ(events[5].amounts.bytes, std::int64_t{1} << 40);
  EXPECT_EQ(events[5].amounts.result, -4);
  EXPECT_EQ(events[6].amounts.auxiliary, 7);
  EXPECT_EQ(events[6].amounts.device, 3U);
  EXPECT_EQ(events[7].type, EventType::pool);
  EXPECT_EQ(events[7].amounts.auxiliary, 1024);
  EXPECT_EQ(events[8].type, EventType::release);
  EXPECT_EQ(events[9].type, EventType::note);
  for (std::size_t i = 1; i < events.size(); ++i) EXPECT_GE(events[i].time_ns, events[i - 1].time_ns);
  EXPECT_FALSE(reader.complete());
  writer_.close();
}

TEST_F(Profile, HeaderTellsTheProgram) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  const ProfileReader reader(own());
  EXPECT_EQ(reader.header().pid, getpid());
  EXPECT_EQ(reader.header().parent_pid, getppid());
  EXPECT_STREQ(reader.header().recorder, "test 1");
  std::ifstream file("/proc/self/cmdline");
  std::string expected(std::istreambuf_iterator<char>(file), {});
  std::string joined;
  for (const std::string& argument : reader.command_line()) joined += argument + '\0';
  EXPECT_EQ(joined, expected);
  writer_.close();
}

TEST_F(Profile, ClosingTrimsAndCompletes) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.release(1);
  writer_.close();
  writer_.release(2);  // a late destructor
  writer_.close();
  EXPECT_EQ(std::filesystem::file_size(own()), 4096U + 64U);
  EXPECT_EQ(writer_.count(), 1U);
  ProfileReader reader(own());
  EXPECT_EQ(reader.events().size(), 1U);
  EXPECT_TRUE(reader.complete());
}

TEST_F(Profile, AClosedOneThatIsCutShortIsNotWhole) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  for (std::uint64_t i = 1; i <= 100; ++i) writer_.release(i);
  writer_.close();
  EXPECT_TRUE(ProfileReader(own()).complete());
  EXPECT_FALSE(ProfileReader(own()).cut_short());
  // In the middle of an event, after one, and after the header.
  for (const auto& [bytes, events] :
       {std::pair{4096U + 64U * 50U + 7U, 50U}, {4096U + 64U, 1U}, {4096U, 0U}}) {
    std::filesystem::resize_file(own(), bytes);
    ProfileReader reader(own());
    EXPECT_FALSE(reader.complete()) << bytes;
    EXPECT_TRUE(reader.cut_short()) << bytes;
    EXPECT_EQ(reader.all_events().size(), events);
    EXPECT_EQ(reader.events().size(), events);
  }
}

TEST_F(Profile, AllEventsOfAClosedOneAreThoseOfTheFile) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  for (std::uint64_t i = 1; i <= 3; ++i) writer_.release(i);
  EXPECT_EQ(ProfileReader(own()).all_events().size(), 3U);  // still open
  writer_.close();
  const EventBlock all = ProfileReader(own()).all_events();
  ASSERT_EQ(all.size(), 3U);
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(all[i - 1].address, i);

  // As a thread leaves it that reserved a slot and never came to write it.
  std::fstream file(own(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(ProfileHeader::kBytes + sizeof(Event));
  file.write("\0\0\0\0\0\0\0", 8);
  file.close();
  const EventBlock rest = ProfileReader(own()).all_events();
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[1].address, 3U);

  // Cut short by somebody else.
  std::filesystem::resize_file(own(), ProfileHeader::kBytes + sizeof(Event));
  EXPECT_EQ(ProfileReader(own()).all_events().size(), 1U);
}

TEST_F(Profile, OneWithoutEventsIsComplete) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.close();
  ProfileReader reader(own());
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(reader.events().empty());
  EXPECT_TRUE(reader.all_events().empty());
}

TEST_F(Profile, ReaderSeesTheFileGrowOverManyExtents) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  ProfileReader reader(own());
  EXPECT_TRUE(reader.events().empty());
  constexpr std::uint64_t kEvents = 100'000;
  for (std::uint64_t i = 0; i < kEvents; ++i) writer_.release(i);
  EXPECT_EQ(reader.events().size(), kEvents);
  writer_.release(kEvents);
  const auto last = reader.events(kEvents);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].address, kEvents);
  EXPECT_EQ(reader.events(10, 20).size(), 10U);
  writer_.close();
}

TEST_F(Profile, TextOverTheEndOfAnExtentIsWhole) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  for (std::uint64_t i = 0; i < 16384 - 64 - 1; ++i) writer_.release(i);
  const std::string text(100, 'x');
  writer_.name(5, text.c_str());
  writer_.close();
  const auto events = ProfileReader(own()).events();
  ASSERT_EQ(events.size(), 16384U - 65 + 4);
  EXPECT_EQ(text_of(events, 16384 - 65), text);
}

TEST_F(Profile, LongerTextsAreCut) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.note(std::string(10'000, 'n').c_str());
  writer_.close();
  const auto events = ProfileReader(own()).events();
  EXPECT_EQ(text_of(events, 0), std::string(ProfileWriter::kMaxTextBytes, 'n'));
}

TEST_F(Profile, KilledProgramLosesNoCompletedEvent) {
  struct Progress {
    std::atomic<std::uint64_t> done[2];
  };
  auto* const progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    if (!writer_.open(base().c_str(), "test 1")) _exit(1);
    const auto work = [&](int thread) {
      for (std::uint64_t i = 1;; ++i) {
        writer_.allocation(static_cast<std::uint64_t>(thread), static_cast<std::int64_t>(i),
                           MemoryKind::buffer);
        progress->done[thread].store(i);
      }
    };
    std::thread other(work, 1);
    work(0);
  }
  while (progress->done[0] < 20'000 || progress->done[1] < 20'000) sched_yield();
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));

  ProfileReader reader(base() + "." + std::to_string(child));
  EXPECT_FALSE(reader.complete());
  std::uint64_t seen[2] = {0, 0};
  for (const Event& event : reader.events()) {
    ASSERT_LT(event.address, 2U);
    ASSERT_EQ(event.amounts.bytes, static_cast<std::int64_t>(++seen[event.address]));
  }
  // The event in the making may have been committed, or not.
  for (int thread = 0; thread < 2; ++thread) {
    EXPECT_GE(seen[thread], progress->done[thread]);
    EXPECT_LE(seen[thread], progress->done[thread] + 1);
  }
  munmap(progress, sizeof(Progress));
}

TEST_F(Profile, ForkedChildWritesAFileOfItsOwn) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.release(1);
  pid_t child = fork();
  if (child == 0) {
    if (chdir("/") != 0) _exit(1);
    writer_.release(2);
    writer_.close();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  writer_.release(3);
  writer_.close();
  const auto mine = ProfileReader(own()).events();
  ASSERT_EQ(mine.size(), 2U);
  EXPECT_EQ(mine[1].address, 3U);
  ProfileReader others(base() + "." + std::to_string(child));
  const auto theirs = others.events();
  ASSERT_EQ(theirs.size(), 1U);
  EXPECT_EQ(theirs[0].address, 2U);
  EXPECT_EQ(theirs[0].thread, static_cast<std::uint32_t>(child));
  EXPECT_EQ(others.header().parent_pid, getpid());
}

std::string phases_of(const std::string& path) {
  std::string phases;
  const auto events = ProfileReader(path).events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].type == EventType::phase) phases += "[" + text_of(events, i) + "]";
  }
  return phases;
}

TEST_F(Profile, BeginsInThePhaseMarkedBeforeThereWasARecorder) {
  ASSERT_EQ(0, in_child([&] {
              setenv("PEAKMARK_PROFILE", base().c_str(), 1);
              setenv("PEAKMARK_PHASE", (std::to_string(getpid()) + ":set-up: tables").c_str(), 1);
              if (!new_writer().open_from_environment("test")) _exit(1);
              if (phases_of(base() + "." + std::to_string(getpid())) != "[set-up: tables]") _exit(2);
            }));
}

TEST_F(Profile, AParentsPhaseIsNoneOfItsChild) {
  for (const std::string& mark : {std::to_string(getpid()) + ":call", std::string("call"), std::string()}) {
    const int status = in_child([&] {
      setenv("PEAKMARK_PROFILE", base().c_str(), 1);
      setenv("PEAKMARK_PHASE", mark.c_str(), 1);
      if (!new_writer().open_from_environment("test")) _exit(1);
      if (!phases_of(base() + "." + std::to_string(getpid())).empty()) _exit(2);
    });
    EXPECT_EQ(0, status) << mark;
  }
}

TEST_F(Profile, ForkedChildWithoutEventsLeavesNoFile) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  ASSERT_EQ(in_child([this] { writer_.close(); }), 0);
  writer_.close();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  EXPECT_TRUE(ProfileReader(own()).complete());
}

TEST_F(Profile, SecondRecorderOfAProcessDoesNotOverwriteTheFirst) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.release(1);
  writer_.close();
  ProfileWriter& second = new_writer();
  ASSERT_TRUE(second.open(base().c_str(), "test 2"));
  second.close();
  EXPECT_EQ(std::string(second.path()), own() + ".2");
  EXPECT_EQ(ProfileReader(own()).events().size(), 1U);
}

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

TEST_F(Profile, NoRoomForTheHeaderMeansNoRecording) {
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

TEST_F(Profile, FileTakenAwayEndsTheRecording) {
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
  EXPECT_EQ(reader.events().size(), 16384U - 64);
  EXPECT_EQ(reader.header().lost, 20'000U - (16384 - 64));
}

TEST_F(Profile, UnwritableFolderSaysSo) {
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

TEST_F(Profile, ForeignAndCutFilesAreRefused) {
  const std::string path = folder_.path() / "file";
  const auto refusal = [&] { return message_of([&] { ProfileReader reader{path}; }); };
  EXPECT_THAT(refusal(), HasSubstr("cannot be opened"));
  std::ofstream(path) << "";
  EXPECT_THAT(refusal(), HasSubstr("is no profile"));
  std::ofstream(path) << std::string(10'000, 'x');
  EXPECT_THAT(refusal(), HasSubstr("is no profile"));
  std::ofstream(path) << "PEAKMARK and little more";
  EXPECT_THAT(refusal(), HasSubstr("cut short"));
  ProfileHeader header{};
  std::copy(std::begin(ProfileHeader::kMagic), std::end(ProfileHeader::kMagic), header.magic);
  header.version = 2;
  header.header_bytes = 4096;
  std::ofstream(path).write(reinterpret_cast<const char*>(&header), sizeof(header));
  EXPECT_THAT(refusal(), HasSubstr("of version 2; this peakmark reads version 1"));
}

TEST_F(Profile, CutEventsAreLeftOut) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  for (std::uint64_t i = 0; i < 10; ++i) writer_.release(i);
  writer_.close();
  std::filesystem::resize_file(own(), 4096 + 64 * 7 + 30);
  EXPECT_EQ(ProfileReader(own()).events().size(), 7U);
}

TEST_F(Profile, ThreadsThatWriteWhileItIsClosedDoNoHarm) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) writer_.note("from a thread of the driver, over two slots");
    });
  }
  while (writer_.count() < 40'000) sched_yield();
  writer_.close();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ProfileReader reader(own());
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.events().size(), reader.header().end);
}

}  // namespace
}  // namespace peakmark

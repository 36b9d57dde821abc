#include "record/recorders/call_stack.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include "base/files_testing.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/profile_writer.hpp"
#include "record/recorders/python_frames.hpp"

namespace peakmark {

// Two named callers. They make no tail calls, because those would not be on the stack.
[[gnu::noinline]] void allocate_here(ProfileWriter& writer, std::uint64_t address) {
  writer.allocation(address, 100, MemoryKind::buffer);
  asm volatile("");
}
[[gnu::noinline]] void allocate_there(ProfileWriter& writer, std::uint64_t address) {
  writer.failed_allocation(100, MemoryKind::buffer, static_cast<std::int32_t>(address));
  asm volatile("");
}

namespace {

using testing::HasSubstr;

/// Each profile is written by a child process, because stacks belong to a process.
class CallStack : public testing::Test {
 protected:
  template <typename Body>
  std::vector<Event> recorded(Body body, const char* stacks = "1") {
    const std::string path = folder_.path() / "p";
    const pid_t child = fork();
    if (child == 0) {
      setenv("PEAKMARK_PROFILE", path.c_str(), 1);
      setenv("PEAKMARK_STACKS", stacks, 1);
      static ProfileWriter writer;
      if (!writer.open_from_environment("test 1")) _exit(1);
      body(writer);
      writer.close();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return ProfileReader(path + "." + std::to_string(child)).events();
  }

  static std::set<std::uint64_t> ids(const std::vector<Event>& events) {
    std::set<std::uint64_t> ids;
    for (const Event& event : events) {
      if (event.type == EventType::allocation || event.type == EventType::failed_allocation) {
        ids.insert(event.amounts.stack);
      }
    }
    return ids;
  }
  static std::vector<std::string> texts(const std::vector<Event>& events) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].type == EventType::stack) texts.push_back(text_of(events, i));
    }
    return texts;
  }

  static std::string library_of(const void* function) {
    Dl_info info{};
    dladdr(function, &info);
    return info.dli_fname;
  }

  TemporaryFolder folder_;
};

TEST_F(CallStack, OneForEachCaller) {
  const auto events = recorded([](ProfileWriter& writer) {
    for (std::uint64_t i = 1; i <= 1000; ++i) allocate_here(writer, i);
    for (std::uint64_t i = 1; i <= 1000; ++i) allocate_there(writer, i);
  });
  EXPECT_EQ(ids(events).size(), 2U);
  EXPECT_EQ(ids(events).count(0), 0U);
  const auto stacks = texts(events);
  ASSERT_EQ(stacks.size(), 2U);
  EXPECT_THAT(stacks[0], HasSubstr(library_of(reinterpret_cast<const void*>(&allocate_here))));
  EXPECT_NE(stacks[0], stacks[1]);
  // The text comes before the allocation that refers to it, so that it is in the profile even if the program
  // is killed.
  EXPECT_EQ(events.front().type, EventType::stack);
  std::set<std::uint64_t> stack_ids;
  for (const Event& event : events) {
    if (event.type == EventType::stack) stack_ids.insert(event.address);
  }
  EXPECT_EQ(stack_ids, ids(events));
}

TEST_F(CallStack, NoneUnlessEnabled) {
  const auto events = recorded([](ProfileWriter& writer) { allocate_here(writer, 1); }, "0");
  EXPECT_EQ(ids(events), std::set<std::uint64_t>{0});
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(CallStack, ManyThreadsWriteAStackOnce) {
  const auto events = recorded([](ProfileWriter& writer) {
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 8; ++t) {
      threads.emplace_back([&writer, t] {
        for (std::uint64_t i = 1; i <= 500; ++i) allocate_here(writer, 1000 * t + i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(texts(events).size(), 1U);
  EXPECT_EQ(ids(events).size(), 1U);
}

TEST_F(CallStack, AForkedChildWritesItsStacksAgain) {
  const auto events = recorded([&](ProfileWriter& writer) {
    for (int round = 0; round < 2; ++round) {
      allocate_here(writer, 1);
      if (round == 0 && fork() == 0) {
        allocate_here(writer, 2);
        writer.close();
        _exit(0);
      }
    }
    wait(nullptr);
  });
  EXPECT_FALSE(texts(events).empty());
  int profiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const auto all = ProfileReader(entry.path()).events();
    EXPECT_FALSE(texts(all).empty()) << entry.path();
    ++profiles;
  }
  EXPECT_EQ(profiles, 2);
}

[[gnu::noinline]] void descend(int levels, ProfileWriter& writer) {
  if (levels > 0) {
    descend(levels - 1, writer);
  } else {
    allocate_here(writer, 1);
  }
  asm volatile("");
}

TEST_F(CallStack, ADeepStackIsCutWithARemark) {
  const auto stacks = texts(recorded([](ProfileWriter& writer) { descend(1000, writer); }));
  ASSERT_EQ(stacks.size(), 1U);
  EXPECT_THAT(stacks[0], HasSubstr("R\tdeeper than is recorded\n"));
  EXPECT_EQ(std::count(stacks[0].begin(), stacks[0].end(), '\n'),
            static_cast<std::ptrdiff_t>(CallStacks::kMaxFrames + 1));
}

TEST(StackText, DropsALineThatDoesNotFit) {
  char buffer[16];
  StackText text(buffer, sizeof(buffer));
  EXPECT_TRUE(text.field("a\tb\nc").hexadecimal(255).end_line());
  EXPECT_EQ(std::string(buffer, text.bytes()), "a b c\tff\n");
  EXPECT_FALSE(text.field("longer than that").end_line());
  EXPECT_TRUE(text.is_full());
  EXPECT_EQ(std::string(buffer, text.bytes()), "a b c\tff\n");
  StackText fields(buffer, sizeof(buffer));
  fields.field("N").field("").decimal(120).end_line();
  EXPECT_EQ(std::string(buffer, fields.bytes()), "N\t\t120\n");
}

}  // namespace
}  // namespace peakmark

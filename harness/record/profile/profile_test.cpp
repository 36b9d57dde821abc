// Profiles as they are written and read.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <fstream>
#include <iterator>

#include "record/profile/profile_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

TEST_F(Profile, WhatIsWrittenIsRead) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.phase("setup");
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
  EXPECT_EQ(text_of(events, 0), "setup");
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

TEST_F(Profile, HeaderNamesTheProgram) {
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
    EXPECT_EQ(reader.lost_events(), 100U - events);
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
  EXPECT_FALSE(ProfileReader(own()).complete());
  EXPECT_EQ(ProfileReader(own()).lost_events(), 1U);

  // Cut short by somebody else.
  std::filesystem::resize_file(own(), ProfileHeader::kBytes + sizeof(Event));
  EXPECT_EQ(ProfileReader(own()).all_events().size(), 1U);
}

TEST_F(Profile, AHoleIsFoundAlsoWhereTheProgramWasKilled) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  for (std::uint64_t i = 1; i <= 1000; ++i) writer_.release(i);
  EXPECT_EQ(ProfileReader(own()).lost_events(), 0U);
  const auto zero = [&](std::uint64_t from, std::uint64_t bytes) {
    std::fstream file(own(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(from));
    file << std::string(bytes, '\0');
  };
  zero(8192, 4096);  // a page: 64 events
  ProfileReader open_one(own());
  EXPECT_EQ(open_one.lost_events(), 64U);
  EXPECT_EQ(open_one.events().size(), 936U);
  writer_.close();
  EXPECT_EQ(open_one.lost_events(), 64U);
  ProfileReader closed(own());
  EXPECT_FALSE(closed.complete());
  EXPECT_EQ(closed.lost_events(), 64U);
  zero(4096 + 64 * 990, 64 * 10);  // at the end
  EXPECT_EQ(ProfileReader(own()).lost_events(), 74U);
}

TEST_F(Profile, OfTheFirstFormatIsRead) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.release(1);
  writer_.close();
  // It had 64 bytes for the name of the recorder.
  std::fstream file(own(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(ProfileHeader, minor));
  file << std::string(8, '\0');
  file.close();
  ProfileReader reader(own());
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.events().size(), 1U);
  EXPECT_STREQ(reader.header().recorder, "test 1");
  EXPECT_EQ(reader.header().stop_error, 0);
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

TEST_F(Profile, ForeignAndCutFilesAreRefused) {
  const std::string path = folder_.path() / "file";
  const auto refusal = [&] { return message_of([&] { ProfileReader reader{path}; }); };
  EXPECT_THAT(refusal(), HasSubstr("cannot be opened"));
  std::ofstream(path) << "";
  EXPECT_THAT(refusal(), HasSubstr("not a profile"));
  std::ofstream(path) << std::string(10'000, 'x');
  EXPECT_THAT(refusal(), HasSubstr("not a profile"));
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

}  // namespace
}  // namespace peakmark

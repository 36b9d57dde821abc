#include "record/recorders/open_ranges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/files_testing.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/error_file.hpp"
#include "record/recorders/nvtx.hpp"
#include "record/recorders/profile_writer.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;

/// It is never destroyed, as in a recorder. It is kept reachable so that LeakSanitizer reports no leak.
template <typename Kept>
Kept& never_destroyed() {
  static auto& all = *new std::vector<Kept*>;
  return *all.emplace_back(new Kept);
}

class Ranges : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(writer_.open((folder_.path() / "p").c_str(), "test 1")); }

  std::vector<std::string> phases() {
    ProfileReader reader(writer_.path());
    const auto events = reader.events();
    std::vector<std::string> phases;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].type == EventType::phase) phases.push_back(text_of(events, i));
    }
    return phases;
  }

  TemporaryFolder folder_;
  ProfileWriter& writer_ = never_destroyed<ProfileWriter>();
  OpenRanges& ranges_ = never_destroyed<OpenRanges>();
};

TEST_F(Ranges, EndingOneRestoresTheOuter) {
  ranges_.attach(writer_);
  ranges_.mark("setup");
  ranges_.begin(1, "outer");
  ranges_.begin(2, "inner");
  ranges_.end(2);
  ranges_.end(1);
  ranges_.end(7);
  ranges_.mark("");
  EXPECT_THAT(phases(), ElementsAre("setup", "outer", "inner", "outer", "setup", ""));
}

TEST_F(Ranges, OverlappingRangesEndIndependently) {
  ranges_.attach(writer_);
  ranges_.begin(1, "first");
  ranges_.begin(2, "second");
  ranges_.end(1);  // the second continues
  ranges_.end(2);
  EXPECT_THAT(phases(), ElementsAre("first", "second", ""));
}

TEST_F(Ranges, AMarkInsideARangeCountsUntilTheEmptyMark) {
  ranges_.attach(writer_);
  ranges_.begin(1, "range");
  ranges_.mark("mark");
  ranges_.mark("");
  ranges_.end(1);
  EXPECT_THAT(phases(), ElementsAre("range", "mark", "range", ""));
}

TEST_F(Ranges, EarlierRangesAreTheFirstPhaseOfTheProfile) {
  ranges_.begin(1, "outer");
  ranges_.begin(2, "inner");
  ranges_.end(2);
  ranges_.attach(writer_);
  ranges_.end(1);
  EXPECT_THAT(phases(), ElementsAre("outer", ""));
}

TEST_F(Ranges, TooManyRangesAndLongNames) {
  ranges_.attach(writer_);
  const std::string name(1000, 'x');
  for (std::uint64_t i = 1; i <= OpenRanges::kMaxRanges + 10; ++i) ranges_.begin(i, name.c_str());
  for (std::uint64_t i = OpenRanges::kMaxRanges + 10; i >= 1; --i) ranges_.end(i);
  const auto recorded = phases();
  EXPECT_EQ(recorded.size(), 2 * OpenRanges::kMaxRanges);
  EXPECT_EQ(recorded.front(), name.substr(0, OpenRanges::kMaxName - 1));
  EXPECT_EQ(recorded.back(), "");
}

OpenRanges* follower = nullptr;

TEST_F(Ranges, AreForwardedToAnotherRecorder) {
  OpenRanges& leader = never_destroyed<OpenRanges>();
  follower = &ranges_;
  ranges_.attach(writer_);
  leader.begin(1, "open");
  const auto begin = +[](std::uint64_t id, const char* name) { follower->begin(id, name); };
  const auto end = +[](std::uint64_t id) { follower->end(id); };
  leader.forward_to(begin, end);
  leader.forward_to(begin, end);
  leader.begin(2, "later");
  leader.end(2);
  leader.end(1);
  EXPECT_THAT(phases(), ElementsAre("open", "later", "open", ""));
}

/// The arguments that a program's copy of NVTX passes to the library that it loads.
class FakeNvtx {
 public:
  FakeNvtx() {
    for (unsigned i = 1; i < kCalls; ++i) {
      core_table_[i] = &core_[i];
      domain_table_[i] = &domains_[i];
    }
  }
  static const void* export_table(std::uint32_t id) { return id == nvtx::kCallbacks ? &kTables : nullptr; }

  template <typename Call>
  static Call* core(unsigned number) {
    return reinterpret_cast<Call*>(core_[number]);
  }
  template <typename Call>
  static Call* domain(unsigned number) {
    return reinterpret_cast<Call*>(domains_[number]);
  }

 private:
  static constexpr unsigned kCalls = 16;
  static int function_table(int module, nvtx::Function*** table, unsigned* size) {
    *size = kCalls;
    *table = module == nvtx::kCore ? core_table_ : module == nvtx::kDomains ? domain_table_ : nullptr;
    return *table != nullptr ? 1 : 0;
  }
  static inline const nvtx::Callbacks kTables{sizeof(nvtx::Callbacks), function_table};
  static inline nvtx::Function core_[kCalls] = {};
  static inline nvtx::Function domains_[kCalls] = {};
  static inline nvtx::Function* core_table_[kCalls] = {};
  static inline nvtx::Function* domain_table_[kCalls] = {};
};

nvtx::Attributes attributes(std::int32_t type, const void* message) {
  nvtx::Attributes attributes{};
  attributes.version = 3;
  attributes.bytes = sizeof(attributes);
  attributes.message_type = type;
  attributes.message = message;
  return attributes;
}

class Nvtx : public Ranges {
 protected:
  void SetUp() override {
    Ranges::SetUp();
    ASSERT_EQ(hook_nvtx(FakeNvtx::export_table), 1);
    open_ranges().attach(writer_);
  }
  FakeNvtx nvtx_;
};

TEST_F(Nvtx, PushAndPopWithEveryCharacterType) {
  const auto push = FakeNvtx::core<int(const char*)>(nvtx::range_push_a);
  const auto push_wide = FakeNvtx::core<int(const wchar_t*)>(nvtx::range_push_w);
  const auto push_ex = FakeNvtx::core<int(const nvtx::Attributes*)>(nvtx::range_push_ex);
  const auto pop = FakeNvtx::core<int()>(nvtx::range_pop);
  const auto registered = FakeNvtx::domain<void*(void*, const char*)>(nvtx::domain_register_string_a);
  EXPECT_EQ(push("plain"), 0);
  EXPECT_EQ(push_wide(L"w\u00efde \u20ac \U0001f600"), 1);
  nvtx::Attributes one = attributes(nvtx::unicode, L"wide");
  EXPECT_EQ(push_ex(&one), 2);
  void* const handle = registered(nullptr, "registered");
  one = attributes(nvtx::registered, handle);
  EXPECT_EQ(push_ex(&one), 3);
  one = attributes(nvtx::no_message, nullptr);
  EXPECT_EQ(push_ex(&one), 4);
  EXPECT_EQ(push_ex(nullptr), 5);
  for (int level = 5; level >= 0; --level) EXPECT_EQ(pop(), level);
  EXPECT_LT(pop(), 0);
  EXPECT_THAT(phases(), ElementsAre("plain", "w\u00efde \u20ac \U0001f600", "wide", "registered",
                                    "(unnamed range)", "(unnamed range)", "(unnamed range)", "registered",
                                    "wide", "w\u00efde \u20ac \U0001f600", "plain", ""));
  free(handle);
}

TEST_F(Nvtx, DomainsHaveStacksOfTheirOwn) {
  const auto create = FakeNvtx::domain<void*(const char*)>(nvtx::domain_create_a);
  const auto push = FakeNvtx::domain<int(void*, const nvtx::Attributes*)>(nvtx::domain_range_push_ex);
  const auto pop = FakeNvtx::domain<int(void*)>(nvtx::domain_range_pop);
  void* const one = create("one");
  void* const two = create("two");
  EXPECT_NE(one, two);
  const nvtx::Attributes a = attributes(nvtx::ascii, "a");
  const nvtx::Attributes b = attributes(nvtx::ascii, "b");
  EXPECT_EQ(push(one, &a), 0);
  EXPECT_EQ(push(two, &b), 0);
  EXPECT_EQ(pop(one), 0);
  EXPECT_LT(pop(one), 0);
  EXPECT_EQ(pop(two), 0);
  EXPECT_THAT(phases(), ElementsAre("a", "b", ""));
}

TEST_F(Nvtx, StartInOneThreadAndEndInAnother) {
  const auto start = FakeNvtx::core<std::uint64_t(const char*)>(nvtx::range_start_a);
  const auto end = FakeNvtx::core<void(std::uint64_t)>(nvtx::range_end);
  const auto push = FakeNvtx::core<int(const char*)>(nvtx::range_push_a);
  const auto pop = FakeNvtx::core<int()>(nvtx::range_pop);
  const std::uint64_t id = start("long");
  push("mine");
  std::thread([&] {
    EXPECT_LT(pop(), 0);  // another thread's
    end(id);
  }).join();
  EXPECT_EQ(pop(), 0);
  EXPECT_THAT(phases(), ElementsAre("long", "mine", ""));
}

TEST_F(Nvtx, WordsOnlyUsesPhaseNames) {
  setenv("PEAKMARK_RANGES", "words", 1);
  ASSERT_EQ(hook_nvtx(FakeNvtx::export_table), 1);
  const auto push = FakeNvtx::core<int(const char*)>(nvtx::range_push_a);
  const auto pop = FakeNvtx::core<int()>(nvtx::range_pop);
  push("inputs");
  pop();
  push("call");
  push("cub::sort");
  pop();
  push("recall");
  push("end");
  pop();
  pop();
  pop();
  EXPECT_THAT(phases(), ElementsAre("inputs", "", "call", "end", "call", ""));
  unsetenv("PEAKMARK_RANGES");
  ASSERT_EQ(hook_nvtx(FakeNvtx::export_table), 1);
}

TEST_F(Nvtx, WordsOnlyReportsMisspeltNamesOnce) {
  const ErrorFile file(folder_.path() / "p");
  setenv("PEAKMARK_RANGES", "words", 1);
  setenv("PEAKMARK_ERROR_FILE", file.path().c_str(), 1);
  ASSERT_EQ(hook_nvtx(FakeNvtx::export_table), 1);
  const auto push = FakeNvtx::core<int(const char*)>(nvtx::range_push_a);
  const auto pop = FakeNvtx::core<int()>(nvtx::range_pop);
  for (const char* const name :
       {"Call", "output", "cub::sort", "Call", "", "call", "recalled", "INPUTS", "outputss"}) {
    push(name);
    pop();
  }
  EXPECT_THAT(file.ranges_left_out(), ElementsAre("Call", "output", "INPUTS", "outputss"));
  EXPECT_EQ(file.first_line(), "");
  EXPECT_THAT(phases(), ElementsAre("call", ""));
  unsetenv("PEAKMARK_ERROR_FILE");
  unsetenv("PEAKMARK_RANGES");
  ASSERT_EQ(hook_nvtx(FakeNvtx::export_table), 1);
}

TEST(NvtxTables, MissingTables) {
  EXPECT_EQ(hook_nvtx(nullptr), 0);
  EXPECT_EQ(hook_nvtx([](std::uint32_t) -> const void* { return nullptr; }), 0);
}

}  // namespace
}  // namespace peakmark

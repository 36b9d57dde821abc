#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "record/show/profile_reports.hpp"
#include "record/show/sample_process.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string page_of(const RecordedTree& tree) {
  std::ostringstream out;
  write_page(tree, {}, out);
  return out.str();
}

/// The text of the element `data`, as a browser would find it.
std::string data_of(const std::string& page) {
  const std::string open = R"(<script id="data" type="application/json">)";
  const std::size_t from = page.find(open) + open.size();
  return page.substr(from, page.find("</script>", from) - from);
}

SampleProcess example(std::int32_t pid) {
  SampleProcess process(pid);
  process.say(EventType::stack, 100, 7, "N\tinner\t0\tlib.so\t10\nN\touter\t0\tprogram\t20\n")
      .say(EventType::phase, 1000, 0, "setup")
      .allocate(2000, 16, 4096)
      .from(7)
      .say(EventType::name, 2001, 16, "coords")
      .say(EventType::phase, 3000, 0, "call")
      .allocate(4000, 32, 1024)
      .from(7)
      .allocate(5000, 48, 1024)
      .release(6000, 32);
  return process;
}

TEST(Page, HoldsNoPathOfAPerson) {
  SampleProcess process = example(1);
  process.say(EventType::stack, 100, 9, "P\tmain\t3\t/home/somebody/work/train.py\n")
      .say(EventType::note, 101, 0, "cannot open /home/somebody/x.so")
      .allocate(7000, 64, 8192)
      .from(9);
  RecordedTree tree{{process.process()}};
  tree.processes[0].command_line = {"/home/somebody/bin/python", "--data=/home/somebody/data"};
  const std::string page = page_of(tree);
  EXPECT_THAT(page, Not(HasSubstr("somebody")));
  EXPECT_THAT(page, testing::AllOf(HasSubstr("train.py"), HasSubstr("\"python\"")));
}

TEST(Page, ItsDataIsWhatJsonGivesAndAViewAProcess) {
  const RecordedTree tree{{example(1).process(), example(2).process()}};
  const auto data = nlohmann::json::parse(data_of(page_of(tree)));
  EXPECT_EQ(data.at("profile"), nlohmann::json(profile_json(tree)));
  ASSERT_EQ(data.at("views").size(), 2U);
  const auto& live = data.at("tree").at("timeline").at("live_bytes");
  EXPECT_EQ(*std::max_element(live.begin(), live.end()), data.at("profile").at("tree_peak_bytes"));
  const auto& view = data.at("views").at(1);
  EXPECT_EQ(view.at("pid"), 2);
  EXPECT_EQ(view.at("timeline").at("times_ns"), (nlohmann::json{0, 1900, 3900, 4900, 5900}));
  EXPECT_EQ(view.at("timeline").at("live_bytes"), (nlohmann::json{0, 4096, 5120, 6144, 5120}));
  EXPECT_EQ(view.at("phases"), (nlohmann::json{{"", 0, 900}, {"setup", 900, 2900}, {"call", 2900, 5900}}));
  EXPECT_EQ(view.at("flame").at("by"), "stacks");
  const auto& root = view.at("flame").at("root");
  EXPECT_EQ(root.at("bytes"), 6144);
  EXPECT_EQ(root.at("children").at(0).at("name"), "outer (program)");
  EXPECT_EQ(root.at("children").at(0).at("children").at(0).at("name"), "inner (lib.so)");
  EXPECT_EQ(root.at("children").at(0).at("children").at(0).at("children").at(0).at("name"), "coords");
}

TEST(Page, WithoutStacksTheFlameIsOfNames) {
  const RecordedTree tree{{SampleProcess(1).allocate(1, 16, 100).process()}};
  const auto data = nlohmann::json::parse(data_of(page_of(tree)));
  const auto& flame = data.at("views").at(0).at("flame");
  EXPECT_EQ(flame.at("by"), "names");
  EXPECT_EQ(flame.at("root").at("children").at(0).at("name"), "buffer");
}

TEST(Page, AProgramThatAllocatedNothingHasAPage) {
  const auto data = nlohmann::json::parse(data_of(page_of({{SampleProcess(1).process()}})));
  EXPECT_TRUE(data.at("views").at(0).at("timeline").at("times_ns").empty());
  EXPECT_EQ(data.at("tree"), nullptr);
  EXPECT_EQ(data.at("views").at(0).at("flame").at("root").at("bytes"), 0);
}

/// Whatever a program calls its memory, the page stays one page.
TEST(Page, NamesCannotLeaveTheData) {
  const std::string name = "</script><script>alert(1)</script><!--<b>&\"'\xff";
  SampleProcess process(1);
  process.allocate(1, 16, 100).say(EventType::name, 2, 16, name).say(EventType::phase, 3, 0, name);
  const std::string page = page_of({{process.process()}});
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(data_of(page), Not(HasSubstr("<")));
  const auto data = nlohmann::json::parse(data_of(page));
  EXPECT_EQ(data.at("profile").at("at_peak").at(0).at("name"),
            "</script><script>alert(1)</script><!--<b>&\"'\xEF\xBF\xBD");
}

TEST(Page, NeedsNothingFromOutside) {
  const std::string page = page_of({{SampleProcess(1).process()}});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"")));
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
  EXPECT_THAT(page, Not(HasSubstr("innerHTML")));
}

TEST(Page, StaysSmallHoweverManyEventsAndPhasesThereAre) {
  SampleProcess process(1);
  for (std::int64_t i = 1; i <= 60'000; ++i) {
    process.allocate(i * 100, static_cast<std::uint64_t>(i), i % 777);
    if (i % 3 == 0) process.release(i * 100 + 1, static_cast<std::uint64_t>(i / 2));
    if (i % 10 == 0) process.say(EventType::phase, i * 100 + 2, 0, "step");
  }
  const RecordedTree tree{{process.process()}};
  const std::string page = page_of(tree);
  EXPECT_LT(page.size(), 1'000'000U);
  const auto data = nlohmann::json::parse(data_of(page));
  const auto& live = data.at("views").at(0).at("timeline").at("live_bytes");
  EXPECT_EQ(*std::max_element(live.begin(), live.end()), summarise(tree.processes[0].events).peak_bytes);
  EXPECT_TRUE(data.at("profile").at("phases").is_null());
  EXPECT_EQ(data.at("profile").at("phases_by_name").at(1).at("times"), 6000);
  const auto& view = data.at("views").at(0);
  EXPECT_EQ(view.at("phases").size() + view.at("phases_not_drawn").get<std::size_t>(), 6001U);
}

Allocation allocation(std::string name, Size bytes) {
  Allocation one;
  one.name = std::move(name);
  one.kind = MemoryKind::buffer;
  one.bytes = bytes;
  return one;
}

TEST(Flame, WhatIsTooSmallToBeSeenIsSummed) {
  const FlameNode root = flame_graph(
      {allocation("a", 50), allocation("b", 930), allocation("c", 3), allocation("d", 4), allocation("a", 5)},
      {}, 100);
  EXPECT_EQ(root.bytes, 992);
  EXPECT_EQ(root.count, 5);
  ASSERT_EQ(root.children.size(), 1U);
  const FlameNode& buffers = root.children[0];
  EXPECT_EQ(buffers.name, "buffer");
  std::vector<std::string> names;
  for (const FlameNode& node : buffers.children) {
    names.push_back(node.name + " " + std::to_string(node.bytes) + " " + std::to_string(node.count));
  }
  EXPECT_THAT(names, ElementsAre("b 930 1", "a 55 2", "(2 smaller) 7 2"));
}

}  // namespace
}  // namespace peakmark

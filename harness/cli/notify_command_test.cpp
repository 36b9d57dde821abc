// Tests of `peakmark trends --notify` with the whole program and with shell commands.
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"
#include "cli/history_command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

class NotifyCommand : public HistoryTest {
 protected:
  void SetUp() override {
    HistoryTest::SetUp();
    for (int day = 1; day <= 2; ++day) add(day, day == 2 ? 256 : 0);
  }
  void add(int day, int more_bytes) const {
    peakmark::Run of_day = read_run(run_file_);
    of_day.context.id = "run-" + std::to_string(day);
    of_day.context.date = "2026-01-0" + std::to_string(day) + "T02:00:00Z";
    for (Observation& one : of_day.observations) *one.requested_peak_bytes += more_bytes;
    const std::string path = folder_.path() / (of_day.context.id + ".json");
    write_run(of_day, path);
    ASSERT_EQ(on_history("history", {"add", path}).end.exit_code, 0);
  }
  Answer trends(std::vector<std::string> words) const { return on_history("trends", std::move(words)); }
  /// Runs `trends --notify` with a command that appends its input to a file.
  Answer notify() const {
    return trends({"--notify", "cat >> '" + sent_file_ + "'; echo , >> '" + sent_file_ + "'"});
  }
  /// Returns the text that has been sent so far.
  Json sent() const {
    if (!std::filesystem::exists(sent_file_)) return Json::array();
    std::string text = "[" + read_text_file(sent_file_);
    text.erase(text.rfind(','));
    return Json::parse(text + "]");
  }

  std::string sent_file_ = folder_.path() / "sent";
};

TEST_F(NotifyCommand, EachFindingIsSentOnceWhenItOpensAndOnceWhenItCloses) {
  EXPECT_EQ(notify().end.exit_code, 1) << "the verdict's";
  ASSERT_EQ(sent().size(), 1U);
  EXPECT_EQ(sent()[0].at("event"), "opened");
  EXPECT_EQ(sent()[0].at("cases").size(), 2U);
  add(3, 256);
  EXPECT_EQ(notify().end.exit_code, 1);
  EXPECT_EQ(sent().size(), 1U) << "the next run does not repeat it";
  add(4, 0);
  EXPECT_EQ(notify().end.exit_code, 0);
  ASSERT_EQ(sent().size(), 2U);
  EXPECT_EQ(sent()[1].at("event"), "closed");
  EXPECT_EQ(sent()[1].at("reason"), "recovered");
  EXPECT_EQ(sent()[1].at("finding"), sent()[0].at("finding"));
  EXPECT_EQ(notify().end.exit_code, 0);
  EXPECT_EQ(sent().size(), 2U);
}

TEST_F(NotifyCommand, ACommandThatFailsIsRunAgainByTheNextTrends) {
  const Answer failed = trends({"--notify", "echo no mail >&2; exit 3"});
  EXPECT_EQ(failed.end.exit_code, 1) << "the verdict's";
  EXPECT_THAT(failed.errors,
              AllOf(HasSubstr("warning: --notify: finding "), HasSubstr(" was not sent: exit code 3"),
                    HasSubstr("no mail"), HasSubstr("the next `trends --notify` sends it")));
  notify();
  EXPECT_EQ(sent().size(), 1U);
  ASSERT_EQ(trends({"accept", "*", "--reason", "a cache"}).end.exit_code, 0);
  EXPECT_EQ(trends({"--notify", "exit 3"}).end.exit_code, 0);
  EXPECT_EQ(notify().end.exit_code, 0);
  ASSERT_EQ(sent().size(), 2U);
  EXPECT_EQ(sent()[1].at("accepted").at("reason"), "a cache");
}

TEST_F(NotifyCommand, WrongUsageSendsNothing) {
  EXPECT_EQ(trends({"--notify", ""}).end.exit_code, 2);
  EXPECT_EQ(trends({"--notify", "true", "--branch", "topic"}).end.exit_code, 2);
  EXPECT_EQ(sent().size(), 0U);
}

}  // namespace
}  // namespace peakmark

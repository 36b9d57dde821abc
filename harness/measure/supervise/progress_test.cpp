#include "measure/supervise/progress.hpp"

#include <gmock/gmock.h>

#include <memory>

namespace peakmark {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

class ProgressTest : public testing::Test {
 protected:
  std::string written() {
    std::fflush(file_.get());
    std::rewind(file_.get());
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_.get()));
    return text;
  }
  const Progress::Clock::time_point begin_ = Progress::Clock::now();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), std::fclose};
};

TEST(ClockText, ReadsAsAClock) {
  EXPECT_EQ(clock_text(7s), "0:07");
  EXPECT_EQ(clock_text(750s), "12:30");
  EXPECT_EQ(clock_text(3725s), "1:02:05");
  EXPECT_EQ(clock_text(-3s), "0:00");
}

TEST_F(ProgressTest, ReportsWhatIsDoneAndWhatRemains) {
  Progress progress(file_.get(), false, 12, 2, begin_);
  progress.started("a/case", begin_);
  EXPECT_EQ(progress.text(begin_ + 10s), "2/12 cases, 0:10");
  progress.finished(false, begin_ + 1s);
  progress.finished(true, begin_ + 2s);
  // 2 of this run's 10 cases took 10 seconds, so the remaining 8 take 40. The resumed cases do not count.
  EXPECT_EQ(progress.text(begin_ + 10s), "4/12 cases, 0:10, 0:40 left, 1 failed");
}

TEST_F(ProgressTest, ReportsWhatIsDoneBeforeTheFirstCase) {
  Progress progress(file_.get(), false, 12, 0, begin_);
  progress.starting("starting the worker for 12 cases", begin_);
  progress.tick(begin_ + Progress::kPlainInterval);
  EXPECT_THAT(written(), HasSubstr("0/12 cases, 0:15, starting the worker for 12 cases"));
  progress.started("a/case", begin_ + 16s);
  EXPECT_EQ(progress.text(begin_ + 16s), "0/12 cases, 0:16");
}

TEST_F(ProgressTest, ABarGrowsWithTheCases) {
  Progress progress(file_.get(), false, 4, 0, begin_);
  EXPECT_EQ(progress.line(begin_, 80), "[........................] 0/4 cases, 0:00");
  progress.finished(false, begin_);
  progress.started("a/case", begin_);
  EXPECT_EQ(progress.line(begin_ + 2s, 80), "[######..................] 1/4 cases, 0:02, 0:06 left  a/case");
  for (int i = 0; i < 3; ++i) progress.finished(false, begin_);
  EXPECT_EQ(progress.line(begin_ + 8s, 80), "[########################] 4/4 cases, 0:08");
}

TEST_F(ProgressTest, ItIsCutToTheTerminalAndANarrowOneHasNoBar) {
  Progress progress(file_.get(), false, 4, 0, begin_);
  progress.started(std::string(500, 'x'), begin_);
  EXPECT_EQ(progress.line(begin_, 80).size(), 79u);
  EXPECT_EQ(progress.line(begin_, 40), "0/4 cases, 0:00  xxxxxxxxxxxxxxxxxxxxxx");
}

TEST_F(ProgressTest, WithoutATerminalALineNowAndThen) {
  {
    Progress progress(file_.get(), false, 4, 0, begin_);
    progress.started("a/case", begin_);
    progress.message("a message", begin_ + 1s);
    progress.finished(false, begin_ + 5s);
    progress.finished(true, begin_ + 15s);
    progress.tick(begin_ + 29s);
    progress.tick(begin_ + 30s);
    progress.finished(false, begin_ + 31s);
    progress.finished(false, begin_ + 60s);  // what follows is the summary
  }
  EXPECT_EQ(written(),
            "a message\n"
            "2/4 cases, 0:15, 0:15 left, 1 failed\n"
            "2/4 cases, 0:30, 0:30 left, 1 failed\n");
}

TEST_F(ProgressTest, LeavesTheTerminalClean) {
  {
    Progress progress(file_.get(), true, 2, 0);
    progress.started("a/case");
    progress.message("a message");
    progress.finished(false);
  }
  const std::string text = written();
  EXPECT_THAT(text, HasSubstr("\r\x1b[Ka message\n"));
  EXPECT_THAT(text, EndsWith("\r\x1b[K"));
}

TEST_F(ProgressTest, AFileIsNoTerminal) {
  EXPECT_FALSE(is_terminal(file_.get()));
}

}  // namespace
}  // namespace peakmark

#include "run/progress.hpp"

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
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), std::fclose};
};

TEST(FormatDuration, ReadsAsAClock) {
  EXPECT_EQ(format_duration(7s), "0:07");
  EXPECT_EQ(format_duration(750s), "12:30");
  EXPECT_EQ(format_duration(3725s), "1:02:05");
  EXPECT_EQ(format_duration(-3s), "0:00");
}

TEST_F(ProgressTest, SaysWhatRemains) {
  Progress progress(file_.get(), false, 12, 2);
  const auto begin = Progress::Clock::now();
  progress.started("a/case");
  EXPECT_EQ(progress.line(begin + 10s), "[3/12] 0:10 a/case");
  progress.finished();
  progress.finished();
  // 2 of the 10 cases of this session took 10 seconds: the 8 left take 40. What was resumed says nothing.
  EXPECT_THAT(progress.line(begin + 10s), HasSubstr("[5/12] 0:10, 0:40 left"));
}

TEST_F(ProgressTest, IsSilentWithoutATerminal) {
  {
    Progress progress(file_.get(), false, 2, 0);
    progress.started("a/case");
    progress.message("a message");
    progress.finished();
  }
  EXPECT_EQ(written(), "a message\n");
}

TEST_F(ProgressTest, LeavesTheTerminalClean) {
  {
    Progress progress(file_.get(), true, 2, 0);
    progress.started("a/case");
    progress.message("a message");
    progress.finished();
  }
  const std::string text = written();
  EXPECT_THAT(text, HasSubstr("\r\x1b[Ka message\n"));
  EXPECT_THAT(text, EndsWith("\r\x1b[K"));
}

TEST_F(ProgressTest, ALongLineIsCutToTheTerminal) {
  Progress progress(file_.get(), true, 2, 0);
  progress.started(std::string(500, 'x'));
  EXPECT_EQ(written().size(), std::string("\r\x1b[K").size() + 79);
}

}  // namespace
}  // namespace peakmark

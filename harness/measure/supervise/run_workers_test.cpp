#include "measure/supervise/run_workers.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

SweepOptions workers(const std::vector<std::string>& typed) {
  SweepOptions options;
  set_workers(options, typed);
  return options;
}

TEST(RunWorkers, AreReadAsTyped) {
  EXPECT_EQ(workers({}).worker, std::nullopt);
  EXPECT_EQ(workers({"./bench"}).worker, "./bench");
  const SweepOptions two = workers({"old=./a", "new=/b/c"});
  EXPECT_EQ(two.worker, std::nullopt);
  ASSERT_EQ(two.labelled_workers.size(), 2u);
  EXPECT_EQ(two.labelled_workers[1].label, "new");
  EXPECT_EQ(two.labelled_workers[1].program, "/b/c");
  EXPECT_THAT(typed_workers(two), ElementsAre("old=./a", "new=/b/c"));
  EXPECT_THAT(typed_workers(workers({"./bench"})), ElementsAre("./bench"));
}

TEST(RunWorkers, APathWithASignIsNoLabel) {
  EXPECT_EQ(workers({"./build=fast/bench"}).worker, "./build=fast/bench");
}

TEST(RunWorkers, SeveralNeedLabelsOfTheirOwn) {
  EXPECT_THROW(workers({"./a", "./b"}), UsageError);
  EXPECT_THROW(workers({"old=./a", "./b"}), UsageError);
  EXPECT_THROW(workers({"old=./a", "old=./b"}), UsageError);
}

std::string refused(const std::vector<std::string>& typed) {
  try {
    workers(typed);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RunWorkers, ALabelHasAProgramAndNoPoint) {
  EXPECT_EQ(refused({"old="}), "--worker old=: no program after the label; write old=PROGRAM");
  EXPECT_THAT(
      refused({"v1.2=./a", "new=./b"}),
      AllOf(StartsWith("--worker v1.2=./a: a label must not contain a point"), EndsWith("write v1_2")));
  EXPECT_EQ(workers({"./build.d=fast/bench"}).worker, "./build.d=fast/bench");
}

}  // namespace
}  // namespace peakmark

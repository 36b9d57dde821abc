// A failed command leaves no output of an earlier command, because a CI job could take it for the new output.
#include <fstream>

#include "base/text_file.hpp"
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

class EarlierOutputs : public CommandTest {
 protected:
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  std::string old_file(const char* name) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << "of an earlier command";
    return path(name);
  }
};

TEST_F(EarlierOutputs, AreGoneWhenACommandFails) {
  const std::string none = path("none.json");
  const std::string history = path("none.db");
  const std::string old = path("old");
  struct Command {
    const char* output;
    std::vector<std::string> words;
  };
  const std::vector<Command> commands{
      {"old", {"check", none, "--junit", old}},
      {"old", {"check", none, "--markdown", old}},
      {"old.2", {"check", none, none, "--markdown", old}},
      {"old", {"compare", none, none, "--markdown", old}},
      {"old", {"compare", none, "--build", none, "-o", path("new"), "--markdown", old}},
      {"old", {"trends", "--history", history, "--markdown", old}},
      {"old", {"trends", "--history", history, "--junit", old}},
      {"old", {"history", "export", "--history", history, "-o", old}},
      {"old", {"history", "export", "--history", history, "-o", path("x.csv"), "--otava", old}},
      {"old", {"show", none, "--html", old}},
      {"old", {"show", none, "--trace", old}},
      {"old", {"report", "--history", history, "--gitlab-metrics", old}},
      {"old", {"report", "--history", history, "--gitlab-code-quality", old}},
      {"old", {"report", "--history", history, "--benchmark-action", old}},
      {"old", {"record", "-o", old, "--", "/no/such/program"}},
  };
  environment_ = {"PEAKMARK_PYTHON=/no/such/python"};
  for (const Command& one : commands) {
    const std::string output = old_file(one.output);
    if (one.words.front() == "record") std::filesystem::remove(output);  // it replaces profiles only
    const Answer answer = peakmark(one.words);
    EXPECT_NE(answer.end.exit_code, 0) << one.words[0];
    EXPECT_FALSE(std::filesystem::exists(output)) << one.words[0] << " " << one.words.back();
    std::filesystem::remove(output);
  }
}

TEST_F(EarlierOutputs, AnEarlierPageIsReplacedByOneThatReportsTheFailure) {
  std::filesystem::create_directory(path("page"));
  const std::string page = path("page/index.html");
  environment_ = {"PEAKMARK_PYTHON=/no/such/python"};
  const std::vector<std::string> words{"report", "--history", path("none.db"), "-o", path("page")};
  for (const std::string text :
       {"<meta name=\"generator\" content=\"peakmark report\">\nnothing to do", "of mine"}) {
    std::ofstream(page) << text;
    EXPECT_EQ(peakmark(words).end.exit_code, 2);
    if (text == "of mine") {
      EXPECT_EQ(read_text_file(page), text) << "no page of a report";
    } else {
      EXPECT_THAT(read_text_file(page), testing::AllOf(testing::HasSubstr("content=\"peakmark report\""),
                                                       testing::HasSubstr("failed"),
                                                       testing::Not(testing::HasSubstr("nothing to do"))));
    }
  }
}

TEST_F(EarlierOutputs, AnInputAndAnEmptyFileStay) {
  suite({"ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  const std::string text = read_text_file(run_file_);
  const std::string old = old_file("old");
  std::filesystem::create_symlink(run_file_, path("link"));
  for (const std::string& output : {run_file_.string(), path("link")}) {
    peakmark({"check", path("none.json"), run_file_.string(), "--markdown", output});
    EXPECT_EQ(read_text_file(run_file_), text) << output;
  }
  EXPECT_EQ(peakmark({"check", path("none.json"), "--baseline", old, "--junit", old}).end.exit_code, 2);
  EXPECT_EQ(read_text_file(old), "of an earlier command");
  // A CI service makes an empty file for the summary of a step.
  std::ofstream(path("summary"));
  EXPECT_EQ(peakmark({"check", path("none.json"), "--markdown", path("summary")}).end.exit_code, 2);
  EXPECT_TRUE(std::filesystem::exists(path("summary")));
  EXPECT_EQ(peakmark({"check", path("none.json"), "--markdown", "/dev/null"}).end.exit_code, 2);
}

TEST_F(EarlierOutputs, ALinkStaysAndItsFileIsGone) {
  const std::string old = old_file("old");
  std::filesystem::create_symlink(old, path("link"));
  EXPECT_EQ(peakmark({"check", path("none.json"), "--junit", path("link")}).end.exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
}

}  // namespace
}  // namespace peakmark

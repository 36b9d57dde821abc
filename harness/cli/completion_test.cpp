// Tests of completion in bash, zsh and fish, and of manual pages.
#include <map>
#include <set>
#include <sstream>

#include "base/files_testing.hpp"
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::set<std::string>;

/// Works in a folder with two suites, a run file and a folder, and has peakmark on PATH.
class Completion : public CommandTest {
 protected:
  void SetUp() override {
    for (const char* name : {"a.toml", "b.toml", "c.json"}) std::ofstream(folder_.path() / name) << "";
    std::filesystem::create_directories(folder_.path() / "inside");
    std::filesystem::create_directories(folder_.path() / "bin");
    std::filesystem::create_symlink(PEAKMARK_PROGRAM, folder_.path() / "bin/peakmark");
  }

  static bool has_program(const std::string& name) {
    return ask({"/bin/sh", {"-c", "command -v " + name}, current_environment(), ""}, kLimit).end.exit_code ==
           0;
  }

  /// Returns the lines that the script prints.
  std::vector<std::string> printed_by(const std::string& shell, const std::string& script) const {
    const std::filesystem::path file = folder_.path() / "script";
    std::ofstream(file) << script;
    const std::string go = "cd '" + folder_.path().string() + "' && PATH=\"$PWD/bin:$PATH\" HOME=\"$PWD\" " +
                           shell + " '" + file.string() + "'";
    const Answer answer = ask({"/bin/sh", {"-c", go}, current_environment(), ""}, kLimit);
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors << answer.output;
    EXPECT_THAT(answer.errors, IsEmpty());
    std::vector<std::string> printed;
    std::istringstream lines(answer.output);
    for (std::string line; std::getline(lines, line);) printed.push_back(line);
    return printed;
  }
};

/// A command line up to the cursor, and the candidates that every shell must offer.
const std::map<std::string, Words> kOffered{
    {"peakmark re", {"record", "report"}},
    {"peakmark pl", {"plot"}},
    {"peakmark plot --p", {"--pdf", "--png"}},
    {"peakmark plot --metric t", {"throughput", "time"}},
    {"peakmark run --re", {"--repeat-call", "--repetitions", "--require", "--resume"}},
    {"peakmark run --require ", {"cuda", "gpu"}},
    {"peakmark history export --format j", {"jsonl"}},
    {"peakmark history re", {"remove", "rename-device"}},
    {"peakmark completion f", {"fish"}},
    {"peakmark manual sc", {"schema"}},
    {"peakmark manual history re", {"remove", "rename-device"}},
    {"peakmark manual schema ", {}},
    {"peakmark record --s", {"--stacks", "--sync"}},
    // A value is not taken for a command, and words after `--` are not taken for options of peakmark.
    {"peakmark list --filter history --s", {"--shard"}},
    {"peakmark record --sync -- ls a.", {"a.toml"}},
};

/// Reads "line LINE" and the candidates that are offered for it. Expects those in kOffered, and `more` for
/// this shell.
void expect_all(const std::vector<std::string>& printed, const std::map<std::string, Words>& more) {
  std::map<std::string, Words> offered;
  std::string line;
  for (const std::string& one : printed) {
    if (one.starts_with("line ")) {
      line = one.substr(5);
      offered[line];
    } else {
      offered[line].insert(one);
    }
  }
  std::map<std::string, Words> expected = kOffered;
  expected.insert(more.begin(), more.end());
  EXPECT_EQ(offered, expected);
}

TEST_F(Completion, InBash) {
  const auto offered = [&](const std::string& line) {
    std::string words;  // as readline splits them, at `=` too
    for (const char letter : line) words += letter == '=' ? std::string(" = ") : std::string(1, letter);
    if (words.ends_with(' ')) words += "''";
    const auto printed =
        printed_by("bash", "source <(peakmark completion bash)\nCOMP_WORDS=(" + words +
                               ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\ncompopt() { :; }\n_peakmark\n"
                               "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
    Words offered(printed.begin(), printed.end());
    offered.erase("");  // printf's line if there is no candidate
    return offered;
  };
  for (const auto& [line, words] : kOffered) EXPECT_EQ(offered(line), words) << line;
  EXPECT_THAT(offered("peakmark list x --backend=cu"), Words({"cuda"}));
  // NAME=value is one word.
  EXPECT_THAT(offered("peakmark run --worker old=./c"), Words({"./c.json"}));
  EXPECT_THAT(offered("peakmark run --worker=old=./c"), Words({"./c.json"}));
  EXPECT_THAT(offered("peakmark run -o new="), Words({"c.json", "bin", "inside"}));
  EXPECT_THAT(offered("peakmark run --worker old=./b "), Words({"a.toml", "b.toml", "bin", "inside"}));
  EXPECT_THAT(offered("peakmark run --worker old=./b --require="), Words({"cuda", "gpu"}));
  EXPECT_THAT(offered("peakmark manual history add "), Words({}));
  EXPECT_THAT(offered("peakmark run "), Words({"a.toml", "b.toml", "bin", "inside"}));
  EXPECT_THAT(offered("peakmark check "), Words({"c.json", "bin", "inside"}));
  EXPECT_THAT(offered("peakmark run -o c"), Words({"c.json"}));
  EXPECT_THAT(offered("peakmark report -o i"), Words({"inside"}));
  EXPECT_THAT(offered("peakmark plot "), Words({"c.json", "bin", "inside"}));
}

TEST_F(Completion, InFish) {
  if (!has_program("fish")) GTEST_SKIP() << "there is no fish here";
  // fish offers the whole word.
  const std::map<std::string, Words> named{
      {"peakmark run --worker bin/p", {"bin/peakmark"}},
      {"peakmark run --worker old=bin/p", {"old=bin/peakmark"}},
      {"peakmark run --worker=old=bin/p", {"--worker=old=bin/peakmark"}},
      {"peakmark run --worker=bin/p", {"--worker=bin/peakmark"}},
      {"peakmark run --worker old=bin/peakmark --worker new=bin/p", {"new=bin/peakmark"}},
  };
  std::string script = "peakmark completion fish | source\n";
  for (const auto& lines : {kOffered, named}) {
    for (const auto& [line, words] : lines) {
      script += "echo 'line " + line + "'\ncomplete -C '" + line + "' | string replace -r '\\t.*' ''\n";
    }
  }
  expect_all(printed_by("fish --no-config", script + "true\n"), named);
}

// zsh completes only what is typed, so it gets a terminal, and prints each word that it offers. One zsh
// completes all lines, because it takes longer to start than to do everything else here.
constexpr const char* kTypist = R"zsh(
zmodload zsh/zpty
zpty typed zsh -f -i
zpty -w typed 'PS1=; stty columns 250; autoload -U compinit; compinit -u -D; source <(peakmark completion zsh)
compadd () {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a offered; builtin compadd -A offered "$@"; local one
  for one in $offered; do print -r -- "<""offered $one>"; done
}
show () { zle complete-word; print "<""shown>"; BUFFER= }; zle -N show; bindkey "^I" show; print "<""ready>"'
zpty -r typed output '*<ready>*'
ask () {
  zpty -w -n typed "$1"$'\t'
  zpty -r typed output '*<shown>*'
  print -r -- "line $1"
  print -r -- $output | grep -o '<offered [^>]*>' | sed 's/<offered //; s/>$//'
}
)zsh";

TEST_F(Completion, InZsh) {
  if (!has_program("zsh")) GTEST_SKIP() << "there is no zsh here";
  if (!has_pseudo_terminals()) GTEST_SKIP() << "this system has no pseudo-terminals: is /dev/pts mounted?";
  // zsh offers only the last part of a path.
  const std::map<std::string, Words> named{
      {"peakmark run --worker bin/p", {"peakmark"}},
      {"peakmark run --worker old=bin/p", {"peakmark"}},
      {"peakmark run --worker=old=bin/p", {"peakmark"}},
      {"peakmark run --worker old=bin/peakmark --worker new=bin/p", {"peakmark"}},
  };
  std::string script = kTypist;
  for (const auto& lines : {kOffered, named}) {
    for (const auto& [line, words] : lines) script += "ask '" + line + "'\n";
  }
  expect_all(printed_by("zsh -f", script), named);
}

/// The protocol of `__complete`: it prints what to offer, then the part of the word that the candidates do
/// not repeat, then the candidates.
TEST_F(Completion, AnswersTheScriptsInLines) {
  const auto answer = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    const Answer answer = peakmark(words);
    EXPECT_EQ(answer.end.exit_code, 0);
    EXPECT_THAT(answer.errors, IsEmpty());
    return answer.output;
  };
  EXPECT_EQ(answer({"tren"}), "words\n\ntrends\tFind changes of bytes, times and estimates in a history\n");
  EXPECT_EQ(answer({"run", ""}), "files toml\n\n");
  EXPECT_EQ(answer({"run", "a.toml", "-o", "x"}), "files json\n\n");
  EXPECT_EQ(answer({"run", "-oa.json", "--require", "c"}), "words\n\ncuda\n");
  EXPECT_EQ(answer({"run", "--require=c"}), "words\n--require=\ncuda\n");
  EXPECT_EQ(answer({"run", "--worker=new=bin/"}), "programs\n--worker=new=\n");
  EXPECT_EQ(answer({"run", "--worker", "./a=b"}), "programs\n\n") << "a path, without a label";
  EXPECT_EQ(answer({"report", "-o", ""}), "folders\n\n");
  EXPECT_EQ(answer({"check", "--junit", ""}), "files\n\n");
  EXPECT_EQ(answer({"list", "--filter", ""}), "words\n\n") << "nothing is known of its value";
  EXPECT_EQ(answer({"record", "--sync", ""}), "programs\n\n");
  EXPECT_EQ(answer({"record", "--", ""}), "programs\n\n");
  EXPECT_EQ(answer({"record", "-o", "p", "ls", "--sy"}), "command 3\n\n");
  EXPECT_EQ(answer({"record", "--", "ls", "--", ""}), "command 2\n\n");
  // An option is offered again only if it may be repeated.
  EXPECT_EQ(answer({"run", "--resume", "--res"}), "words\n\n");
  EXPECT_THAT(answer({"run", "--worker", "a", "--work"}), HasSubstr("--worker\t"));
  EXPECT_EQ(answer({"no-such-command", "--no-such-option", "x", ""}), "words\n\n");
}

TEST_F(Completion, OffersTheVariantsOfTheWorkerNextToTheProgram) {
  // It must be a copy: the program finds its worker through /proc/self/exe, which does not show links.
  std::filesystem::copy_file(PEAKMARK_PROGRAM, folder_.path() / "inside/peakmark");
  std::filesystem::create_symlink(PEAKMARK_FAKE_WORKER, folder_.path() / "inside/peakmark-bench");
  WorkerCommand words = command({"__complete", "estimate", "fake/"});
  words.program = (folder_.path() / "inside/peakmark").string();
  const Answer answer = ask(words, kLimit);
  EXPECT_THAT(answer.output, testing::StartsWith("words\n\nfake/"));
  EXPECT_THAT(answer.output, HasSubstr("\nfake/case\n"));
}

TEST_F(Completion, OfAnUnknownShellIsRefused) {
  const Answer answer = peakmark({"completion", "tcsh"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("bash"));
}

TEST_F(Completion, PagesAreThereForEveryCommand) {
  const std::filesystem::path pages = folder_.path() / "man1";
  ASSERT_EQ(peakmark({"manual", "--all", pages.string()}).end.exit_code, 0);
  const std::string run = read_text_file(pages / "peakmark-run.1");
  EXPECT_THAT(run,
              HasSubstr("\\fB\\-o,\\-\\-output\\fR \\fIRUN\\fR\nWrite this run file. Default: run.json."));
  EXPECT_THAT(run, HasSubstr(".SH EXIT CODES\n.TP\n\\fB0\\fR\nclean\n"));
  EXPECT_THAT(run, HasSubstr("\\fI{cuda,gpu}\\fR"));
  EXPECT_THAT(run, HasSubstr("Default: $PEAKMARK_REQUIRE."));
  EXPECT_EQ(run, peakmark({"manual", "run"}).output);
  EXPECT_TRUE(std::filesystem::exists(pages / "peakmark-history-add.1"));
  EXPECT_THAT(read_text_file(pages / "peakmark.1"),
              HasSubstr(".SH ENVIRONMENT\n.TP\n\\fBPEAKMARK_HISTORY\\fR\n"));
  EXPECT_THAT(read_text_file(pages / "peakmark-record.1"),
              HasSubstr(" [OPTIONS] [\\-\\-] PROGRAM [ARGUMENT...]\n"));
  EXPECT_THAT(read_text_file(pages / "peakmark-trends.1"), HasSubstr(" [COMMAND]\n"));
  EXPECT_THAT(read_text_file(pages / "peakmark-history.1"), HasSubstr(" COMMAND\n"));
  const Answer none = peakmark({"manual", "rnu"});
  EXPECT_EQ(none.end.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("manual: no command 'rnu'; did you mean 'run'?"));

  if (!has_program("mandoc")) GTEST_SKIP() << "there is no mandoc here to check the pages";
  const Answer lint =
      ask({"/bin/sh",
           {"-c", "mandoc -T lint -W warning '" + pages.string() + "'/*.1 | grep -v 'missing date' || :"},
           current_environment(),
           ""},
          kLimit);
  EXPECT_THAT(lint.output, IsEmpty());
}

}  // namespace
}  // namespace peakmark

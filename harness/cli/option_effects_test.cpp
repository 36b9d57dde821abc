// Every option of every command has an effect, or the command line is refused; no option is ignored. The help
// says where an option has an effect, and this test tries it where it has none.
#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>

#include "base/pattern.hpp"
#include "base/text.hpp"
#include "cli/command_testing.hpp"
#include "record/profile/profile_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Strings = std::vector<std::string>;

Strings words_of(const std::string& text) {
  std::istringstream stream(text);
  Strings words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// An option, as the help of its command shows it.
struct ShownOption {
  std::string name;              ///< `--output`
  std::string placeholder = {};  ///< of its value; empty for a flag
  std::string text = {};         ///< its description, in one line
  bool has_two_values = false;
  bool is_conditional = false;  ///< it is in a group "Only with …", or its description says so

  /// The options that follow ` Needs ` or ` Not with ` in the description.
  [[nodiscard]] std::set<std::string> options_after(const std::string& words) const {
    const std::size_t begin = text.find(words);
    if (begin == std::string::npos) return {};
    const std::string list = text.substr(begin + words.size(), text.find('.', begin) - begin - words.size());
    std::set<std::string> options;
    for (std::string word : words_of(list)) {
      if (word.ends_with(',')) word.pop_back();
      options.insert(word.substr(0, word.find('=')));
    }
    return options;
  }
};

/// Text in a command line that stands for a file of the test.
const std::map<std::string, std::string> kFiles{
    {"SUITE", "suite.toml"}, {"RUN", "run.json"}, {"PROFILE", "p.profile"}};

/// The shortest command line of each command. The command's options are tried with it.
const std::map<std::string, std::string> kCommands{
    {"init", "init ci"},
    {"list", "list SUITE"},
    {"run", "run SUITE"},
    {"slurm", "slurm SUITE -o new.json"},
    {"merge", "merge RUN -o new.json"},
    {"estimate", "estimate python:m:f"},
    {"explain", "explain RUN"},
    {"fit", "fit fake/case n --budget 1MiB"},
    {"oom", "oom fake/case"},
    {"check", "check RUN"},
    {"plot", "plot RUN"},
    {"record", "record"},
    {"show", "show PROFILE"},
    {"compare", "compare SUITE"},
    {"bisect", "bisect SUITE a b --case c"},
    {"completion", "completion bash"},
    {"history remove", "history remove r"},
    {"history rename-device", "history rename-device a b"},
};

/// A valid value for the placeholder of an option, or the name of a positional.
const std::map<std::string, std::string> kValues{{"BRANCH", "b"},
                                                 {"BUILD", "w"},
                                                 {"CASE", "c"},
                                                 {"COMMAND", "run"},
                                                 {"COMMIT", "c"},
                                                 {"DATE", "2026-01-31"},
                                                 {"DAYS", "3"},
                                                 {"DEVICE", "0"},
                                                 {"DTYPE", "float32"},
                                                 {"FILE", "f.txt"},
                                                 {"FOLDER", "f"},
                                                 {"HISTORY", "h.db"},
                                                 {"ID", "12345678"},
                                                 {"INT", "1"},
                                                 {"KEY", "n=3"},
                                                 {"N", "9"},
                                                 {"N,N", "3,4"},
                                                 {"FORMULA,FORMULA", "n,n"},
                                                 {"FUNCTION", "m:f"},
                                                 {"NAME", "n"},
                                                 {"REGEX", "x"},
                                                 {"RUN", "RUN"},
                                                 {"RUN_ID", "r"},
                                                 {"SECONDS", "5"},
                                                 {"AXIS=VALUES", "n=3"},
                                                 {"AGE", "36h"},
                                                 {"SHELL_COMMAND", "true"},
                                                 {"SIZE", "1MiB"},
                                                 {"SUITE", "SUITE"},
                                                 {"TEXT", "why"},
                                                 {"VARIANT", "a/b"},
                                                 {"WHEEL", "w"},
                                                 {"I/N", "1/2"},
                                                 {"PERCENT", "2"},
                                                 {"GROWTH", "1%"},
                                                 {"PROGRAM", "w"},
                                                 {"PYTHON", "venv"}};

/// Command lines in which the last option changes nothing, because the inputs or several options together
/// decide.
const Strings kWithoutEffect{
    "init opencl --suite SUITE",
    "init opencl --shards 3",
    "init cuda --require gpu",
    "init program --wheel w",
    "run SUITE --backend dry --rounds 9",
    "run SUITE --backend dry --repetitions 3",
    "run SUITE --backend dry --cache hot",
    "run SUITE --backend dry --confirm h.db",
    "slurm --status -o RUN --tasks 3",
    "slurm --cancel -o RUN --partition p",
    "slurm --rerun -o RUN --gres gpu:1",
    "slurm --rerun -o RUN --time 02:00:00",
    "slurm --status -o RUN --account a",
    "slurm --status -o RUN --constraint a",
    "slurm --status -o RUN --sbatch-option=--qos=low",
    "slurm --status -o RUN --merge-option=--qos=low",
    "slurm --status -o RUN --balance RUN",
    "slurm --status -o RUN --axis n=3",
    "slurm --status -o RUN --history h.db",
    "slurm --cancel -o RUN --dry-run",
    "estimate python:m:f --suite SUITE",
    "estimate command:f --worker w",
    "estimate python:m:f --estimator own",
    "estimate --run RUN command:f --estimator own",
    "estimate fake/case --form module",
    "estimate --run RUN fake/case --form module",
    "estimate fake/case --dimensions 3,4",
    "estimate --run RUN --other-dimensions n,n",
    "estimate fake/case --dtype float32",
    "estimate fake/case --slice-dimension 1",
    "estimate fake/case --slices 3",
    "estimate fake/case --padding m:f",
    "estimate fake/case --output-dimensions m:f",
    "estimate fake/case --python venv",
    "estimate command:f --python venv",
    "explain RUN RUN --at n=4",
    "explain RUN --emit toml --at n=4",
    "explain RUN --axis n",
    "explain RUN RUN --json --axis n",
    "explain RUN --budget 1MiB",
    "explain RUN --slice-axis n",
    "explain RUN --other-dimensions n,n",
    "explain RUN --form module",
    "explain RUN --against own --form module",
    "explain RUN --against command:f --python venv",
    "explain SUITE --against own --suite SUITE",
    "explain fake/case --filter n:1",
    "explain PROFILE n=1 --filter n:1",
    "explain RUN --backend dry",
    "explain PROFILE n=1 --device 0",
    "explain RUN --shapes 12",
    "explain RUN --deadline 5",
    "explain RUN --worker w",
    "explain RUN --emit python --frames 3",
    "check RUN --json --full-names",
    "check RUN --estimator own --form module",
    "check RUN --estimator own --other-dimensions n,n",
    "check RUN --estimator command:f --python venv",
    "show RUN --json",
    "show PROFILE RUN --events",
    "show RUN --by site",
    "show PROFILE --json --by site",
    "show PROFILE --events --by name",
    "show RUN --frames 3",
    "show PROFILE --events --frames 3",
    "show RUN --trace t.json",
    "show RUN --full",
    "show RUN --html p.html",
    "compare PROFILE PROFILE --force",
    "compare PROFILE PROFILE --markdown m.md",
    "compare RUN RUN --rounds 9",
    "compare RUN RUN --cache hot",
    "compare RUN RUN --seed 3",
    "compare RUN RUN -o x",
    "compare RUN RUN --axis n=3",
    "compare RUN RUN --filter x",
    "compare RUN RUN --backend dry",
    "compare RUN RUN --device 0",
    "compare RUN RUN --require gpu",
    "compare RUN RUN --worker w",
    "compare RUN RUN --timeout 5",
    "compare RUN RUN --deadline 5",
    "compare RUN RUN --no-wait",
    "compare RUN RUN --host-name",
    "compare RUN RUN --resume",
    "compare SUITE --build w --backend dry --rounds 9",
    "compare SUITE --build w --backend dry --cache hot",
    "compare SUITE --build w --backend dry --seed 3",
    "bisect SUITE a b --case c --backend dry --rounds 9",
    "bisect SUITE a b --case c --backend dry --cache hot",
    "bisect SUITE a b --case c --metric outcome --rounds 9",
    "bisect SUITE a b --case c --metric leaked_bytes --cache hot",
    "bisect SUITE a b --case c --metric gpu_time_ns --allow-growth 1%",
    "history export --run r",
    "history export --format run --branch b",
    "history export --format run --since 2026-01-31",
    "history export --format run --max-runs 9",
    "history export --format run --filter x",
    "history export --format run --metric gpu_time_ns",
    "history export --format run --without-gaps",
    "history export --format jsonl --otava o.yaml",
    "trends --commit-url https://x/{commit}",
    "report --gitlab-metrics m.txt --title why",
    "report --benchmark-action a.json --commit-url https://x/{commit}",
    "report --benchmark-action a.json --branch b",
    "report RUN --history h.db",
    "report RUN --allow-growth 1%",
    "report RUN --gitlab-metrics m.txt",
    "report RUN --gitlab-code-quality q.json",
    "report RUN --benchmark-action a.json",
};

/// The options that have an effect with all other options and all inputs of their command.
const std::map<std::string, std::string> kAlwaysWithEffect{
    {"devices", "--json --budget"},
    {"doctor", "--json --probe"},
    {"list", "--axis --filter --backend --device --shard --worker"},
    {"run",
     "--axis --output --filter --backend --device --require --device-class --resume --budget "
     "--max-allocation "
     "--timeout --deadline --no-wait --worker --host-name --json"},
    {"slurm", "--output"},
    {"merge", "--output"},
    {"estimate", "--json --seconds"},
    {"explain", "--against --emit --plot --json"},
    {"fit",
     "--budget --max-allocation --multiple-of --slices --predict --objective --prove --backend --device "
     "--worker --timeout --plot"},
    {"oom",
     "--allocations --frames --sample --only --max --compare-output --once --refuse-at-use --jobs --timeout "
     "--backend "
     "--device --worker --junit --json"},
    {"check",
     "--window --window-tolerance --junit --markdown --baseline --update-baseline --history --estimator "
     "--json"},
    {"plot", "--output --png --svg --pdf --filter --metric --axis --against --width"},
    {"record", "--output --sync --stacks --budget --max-allocation --max-size --allow-incomplete --json"},
    {"compare", "--json"},
    {"bisect", "--case --metric --axis --backend --device --worker --timeout --force --json"},
    {"history create", "--history"},
    {"history add", "--history --branch --base-branch --merge-base --retry --by-date --json"},
    {"history import",
     "--history --branch --base-branch --merge-base --retry --by-date --json --commit --date --device "
     "--backend --suite --peak"},
    {"history set", "--history --base-branch --commit-url"},
    {"history log", "--history --branch --json"},
    {"history export", "--history --format --device --output"},
    {"history prune", "--history --dry-run"},
    {"history remove", "--history --dry-run --json"},
    {"history rename-device", "--history"},
    {"trends", "--history --allow-growth --json --markdown --junit --allow-uncompared"},
    {"trends accept", "--history"},
    {"report", "--output"},
};

class OptionEffects : public CommandTest {
 protected:
  void SetUp() override {
    suite({"ok"});
    ASSERT_EQ(run().end.exit_code, 0);
    const std::string profile = folder_.path() / "p.profile";
    ASSERT_EQ(in_child([&] {
                ProfileWriter& writer = new_writer();
                if (!writer.open(profile.c_str(), "opencl-layer 1")) _exit(1);
                writer.close();
              }),
              0);
  }

  /// The command ends with exit code 2 before anything is done, and its message names all of `names`.
  void expect_refused(const std::string& command_line, const Strings& names) const {
    Strings words = words_of(command_line);
    for (std::string& word : words) {
      if (const auto file = kFiles.find(word); file != kFiles.end()) word = folder_.path() / file->second;
    }
    const Answer answer = peakmark(words);
    EXPECT_EQ(answer.end.exit_code, 2) << command_line << "\n" << answer.errors;
    for (const std::string& name : names) EXPECT_THAT(answer.errors, HasSubstr(name)) << command_line;
  }

  Strings subcommands(Strings words) const {
    words.insert(words.begin(), "__complete");
    words.emplace_back();
    std::istringstream lines(peakmark(words).output);
    Strings names;
    for (std::string line; std::getline(lines, line);) {
      if (line.find('\t') != std::string::npos) names.push_back(line.substr(0, line.find('\t')));
    }
    return names;
  }

  std::vector<ShownOption> options(const std::string& command) const {
    Strings words = words_of(command);
    words.emplace_back("--help");
    std::istringstream lines(peakmark(words).output);
    std::vector<ShownOption> options;
    bool is_conditional_group = false;
    bool is_options = false;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(' ')) {
        is_conditional_group = line.starts_with("Only ");
        is_options = false;
      } else if (line.starts_with("  -")) {
        // `  -o,--output RUN             Write this run file.`
        const std::string names = words_of(line).front();
        ShownOption option{.name = names.substr(names.find(',') + 1), .is_conditional = is_conditional_group};
        const std::string rest = line.substr(line.find(names) + names.size());
        option.text = fmt::format("{}", fmt::join(words_of(rest), " "));
        const bool has_value = rest.starts_with(' ') && !rest.starts_with("  ");
        if (has_value) option.placeholder = words_of(rest).front();
        option.has_two_values = rest.starts_with(fmt::format(" {0} {0}", option.placeholder));
        if (option.placeholder.ends_with("...")) option.placeholder.resize(option.placeholder.size() - 3);
        options.push_back(option);
        is_options = true;
      } else if (is_options) {
        options.back().text += fmt::format(" {}", fmt::join(words_of(line), " "));
      }
    }
    static const Pattern condition("[.] Only (with|without) ");
    for (ShownOption& option : options)
      option.is_conditional = option.is_conditional || condition.is_in(option.text);
    return options;
  }

  /// All commands that have options, for example `run` and `history add`.
  Strings commands() const {
    Strings names;
    for (const std::string& command : subcommands({})) {
      names.push_back(command);
      if (command == "history" || command == "trends") {
        for (const std::string& below : subcommands({command})) names.push_back(command + " " + below);
      }
    }
    return names;
  }
};

/// The value of an option on a command line, with a blank before it.
std::string value_text(const ShownOption& option) {
  if (option.placeholder.empty()) return "";
  if (option.placeholder.starts_with('{'))
    return " " + option.placeholder.substr(1, option.placeholder.find_first_of(",}") - 1);
  const auto value = kValues.find(option.placeholder);
  if (value == kValues.end()) throw std::logic_error("kValues has no value for " + option.placeholder);
  return (option.has_two_values ? " " + value->second : "") + " " + value->second;
}

TEST_F(OptionEffects, AnOptionWithoutItsCompanionOrWithItsOppositeIsRefused) {
  for (const std::string& command : commands()) {
    const auto base = kCommands.find(command);
    const std::string line = base == kCommands.end() ? command : base->second;
    const std::vector<ShownOption> all = options(command);
    const auto with_value = [&](const std::string& name) {
      const auto option = std::ranges::find(all, name, &ShownOption::name);
      return option == all.end() ? kValues.at(name) : name + value_text(*option);
    };
    for (const ShownOption& option : all) {
      for (const std::string& other : option.options_after(" Needs "))
        expect_refused(line + " " + with_value(option.name), {option.name, other});
      for (const std::string& other : option.options_after(" Not with "))
        expect_refused(fmt::format("{} {} {}", line, with_value(option.name), with_value(other)),
                       {option.name, other});
    }
  }
}

TEST_F(OptionEffects, AnOptionThatChangesNothingIsRefused) {
  std::set<std::string> tried;
  for (const std::string& line : kWithoutEffect) {
    const Strings words = words_of(line);
    std::string option = *std::find_if(words.rbegin(), words.rend(),
                                       [](const std::string& word) { return word.starts_with("-"); });
    option = option == "-o" ? "--output" : option.substr(0, option.find('='));
    expect_refused(line, {option + ": changes nothing here: it takes effect only with", "; leave it out\n"});
    tried.insert((words[0] == "history" ? words[0] + " " + words[1] : words[0]) + " " + option);
  }
  std::set<std::string> conditional;
  for (const std::string& command : commands()) {
    for (const ShownOption& option : options(command)) {
      if (option.is_conditional) conditional.insert(command + " " + option.name);
    }
  }
  EXPECT_EQ(conditional, tried) << "add a command line to kWithoutEffect in which the option changes nothing";
}

// A new option declares when it has an effect (only_when, needs, excludes), or is in this list.
TEST_F(OptionEffects, EveryOtherOptionAlwaysHasAnEffect) {
  for (const std::string& command : commands()) {
    std::set<std::string> always;
    for (const ShownOption& option : options(command)) {
      const bool is_declared = option.is_conditional || !option.options_after(" Needs ").empty() ||
                               !option.options_after(" Not with ").empty();
      if (!is_declared && option.name != "--help") always.insert(option.name);
    }
    const auto known = kAlwaysWithEffect.find(command);
    const Strings names = words_of(known == kAlwaysWithEffect.end() ? "" : known->second);
    EXPECT_EQ(always, (std::set<std::string>{names.begin(), names.end()})) << command;
  }
}

}  // namespace
}  // namespace peakmark

#include "fuzz/fuzz_targets.hpp"

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "analyse/history/run_record.hpp"
#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "measure/check/judge.hpp"
#include "measure/check/reports.hpp"
#include "measure/estimate/answer.hpp"
#include "measure/runfile/description_json.hpp"
#include "measure/runfile/import_results.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/sweep/sample_description.hpp"
#include "measure/sweep/suite.hpp"
#include "measure/sweep/suite_document.hpp"
#include "record/show/process_tree.hpp"
#include "record/show/profile_reports.hpp"

namespace peakmark {
namespace {

/// If a reader accepts an input, it must also accept the text that is written from it.
void expect_readable(bool is_readable, const std::string& text) {
  if (!is_readable) throw std::logic_error("what was written cannot be read: " + text);
}

std::filesystem::path file_with(std::string_view input) {
  static const TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "input";
  std::ofstream(path, std::ios::binary) << input;
  return path;
}

void read_suite(std::string_view input, unsigned /*form*/) {
  try {
    (void)expand_suites({parse_suite_document(input, "s.toml")}, example_description(), {});
  } catch (const UsageError&) {
  }
}

void read_profile(std::string_view input, unsigned form) {
  const std::filesystem::path path = file_with(input);
  RecordedTree tree;
  try {
    tree = read_tree(path);
  } catch (const UsageError&) {
    return;
  }
  std::ostringstream out;
  switch (form) {
    case 0:
      out << profile_table(tree);
      break;
    case 1:
      out << profile_table(tree, {.by_site = true, .frames = 2});
      break;
    case 2:
      out << json_fields::pretty(profile_json(tree));
      break;
    case 3:
      write_events(tree, out);
      break;
    case 4:
      write_trace(tree, {}, out);
      break;
    default:
      write_page(tree, {}, out);
  }
}

void read_run_file(std::string_view input, unsigned form) {
  const std::filesystem::path path = file_with(input);
  Run run;
  try {
    run = read_run(path);
  } catch (const UsageError&) {
    return;
  }
  if (form < 4) {
    try {
      const auto verdicts = judge(run, {});
      (void)(form == 0   ? console_table(run, verdicts)
             : form == 1 ? markdown(run, verdicts)
             : form == 2 ? junit(run, verdicts)
                         : json_fields::pretty(verdicts_json(run, verdicts)));
    } catch (const UsageError&) {  // two observations of a case
    }
    return;
  }
  if (form == 4) {
    const std::string text = run_file_text(run, -1);
    try {
      (void)read_run(file_with(text));
    } catch (const UsageError&) {
      expect_readable(false, text);
    }
    return;
  }
  try {
    (void)history::to_run(history::to_record(run));
  } catch (const UsageError&) {
  }
}

void read_description(std::string_view input, unsigned /*form*/) {
  Description description;
  try {
    description = description_from_json(input);
  } catch (const ProtocolError&) {
    return;
  }
  const std::string text = to_json_text(description);
  try {
    (void)description_from_json(text);
  } catch (const ProtocolError&) {
    expect_readable(false, text);
  }
}

void read_estimator_answer(std::string_view input, unsigned /*form*/) {
  for (const bool is_asked : {false, true}) {
    try {
      (void)read_answer(std::string(input), {.by_command = is_asked, .asked_slices = is_asked, .slices = 24});
    } catch (const NoEstimateError&) {
    }
  }
}

/// Reads the context, the plan, and the facts of the observations, one per line, as a history stores them.
void read_history_record(std::string_view input, unsigned /*form*/) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(input)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  history::RunRecord record;
  if (!lines.empty()) record.context = lines[0];
  if (lines.size() > 1) record.planned = lines[1];
  for (std::size_t i = 2; i < lines.size(); ++i) {
    record.observations.emplace_back().facts = lines[i];
  }
  const auto tried = [](const auto& read) {
    try {
      read();
    } catch (const UsageError&) {
    }
  };
  tried([&] { (void)history::to_run(record); });
  tried([&] { (void)history::to_history_run(record.context); });
  for (const history::ObservationRecord& one : record.observations) {
    tried([&] { (void)history::parse_facts(one.facts); });
    tried([&] { (void)history::hash_facts(one.facts); });
  }
}

/// Reads results of other programs. Form 0: without the options for facts that the files may lack.
void read_results(std::string_view input, unsigned form) {
  ImportOptions options;
  if (form > 0) {
    options.date = "2026-01-31T02:00:00Z";
    options.backend = "cuda";
    if (form > 1) options.device = "a device";
    if (form > 2) options.peak_counter = "max_bytes_used";
  }
  ImportedResults results;
  try {
    results = import_results(file_with(input), options, {});
  } catch (const UsageError&) {
    return;
  }
  for (const Run& run : results.runs) {
    const std::string text = run_file_text(run, -1);
    try {
      const Run again = read_run(file_with(text));
      (void)judge(again, {});
    } catch (const UsageError&) {
      expect_readable(false, text);
    }
    try {
      (void)history::to_run(history::to_record(run));
    } catch (const UsageError&) {  // a time that is too large
    }
  }
}

}  // namespace

std::span<const FuzzTarget> fuzz_targets() {
  static constexpr std::array<FuzzTarget, 7> kTargets{{{"suite", read_suite},
                                                       {"results", read_results},
                                                       {"profile", read_profile},
                                                       {"run_file", read_run_file},
                                                       {"description", read_description},
                                                       {"estimator_answer", read_estimator_answer},
                                                       {"history_record", read_history_record}}};
  return kTargets;
}

}  // namespace peakmark

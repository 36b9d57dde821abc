#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

// Words of a command line that CLI11 does not read: those up to the cursor, and the program of `record`.
namespace peakmark::cli {

struct ReadWords {
  const CLI::App* command = nullptr;
  const CLI::Option* pending = nullptr;  ///< the option whose value comes next
  int values_left = 0;                   ///< number of further values of `pending`
  bool options_ended = false;            ///< after `--`
  std::string unknown_option = {};       ///< the first one; empty: all are known
  std::vector<std::string> values = {};  ///< values of the positionals
  std::set<const CLI::Option*> used = {};
  std::optional<std::size_t> program = {};  ///< the word at which another program's command line begins
};

/// Reads words up to the end, or up to another program's command line.
ReadWords read_words(const CLI::App& app, std::span<const std::string> words);

/// Returns the program that follows `--`, with its arguments; nullopt without `--`.
std::optional<std::vector<std::string>> program_after_dashes(const std::vector<std::string>& words);

/// Returns `words` with `--` before the program of `record`, so that CLI11 ignores the program's options. For
/// `bisect`, `fit`, `oom` and `slurm`, which read the program themselves, returns `words` without `--` and
/// the program. Throws UsageError for an unknown option of `record`, which CLI11 would pass to the program.
std::vector<std::string> separate_program(const CLI::App& app, std::vector<std::string> words);

}  // namespace peakmark::cli

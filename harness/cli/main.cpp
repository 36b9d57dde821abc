#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>

#include "cli/command.hpp"

namespace {

int run(int argc, char** argv) {
  using peakmark::ExitCode;
  CLI::App app("Device memory peaks, run times and estimators of GPU kernels, measured and checked",
               "peakmark");
  app.set_version_flag("--version", PEAKMARK_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  peakmark::cli::Result result;

  // The commands, in the order of the work.
  peakmark::cli::add_devices_command(app, result);
  peakmark::cli::add_doctor_command(app, result);
  peakmark::cli::add_list_command(app, result);
  peakmark::cli::add_run_command(app, result);
  peakmark::cli::add_merge_command(app, result);
  peakmark::cli::add_estimate_command(app, result);
  peakmark::cli::add_check_command(app, result);
  peakmark::cli::add_record_command(app, result);
  peakmark::cli::add_show_command(app, result);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return static_cast<int>(ExitCode::usage);
  }
  return result.program_code != 0 ? result.program_code : static_cast<int>(result.code);
}

/// A result that did not reach its file must not look like success.
int after_output(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout) return code;
  std::fprintf(stderr, "peakmark: standard output could not be written: is its disk full?\n");
  return static_cast<int>(peakmark::ExitCode::usage);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return after_output(run(argc, argv));
  } catch (const peakmark::Error& error) {
    std::fprintf(stderr, "peakmark: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peakmark: unexpected error: %s\n", error.what());
    return static_cast<int>(peakmark::ExitCode::measurement);
  }
}

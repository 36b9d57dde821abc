#pragma once

#include <string>

#include "measure/worker/variant.hpp"

namespace peakmark {

/// Information about a worker program besides its variants.
struct WorkerProgram {
  std::string name;    ///< name and version
  std::string build;   ///< `Release`, `Debug`, with sanitizers named
  std::string commit;  ///< of its sources; empty if unknown
  std::string api;     ///< version of the public API that it was compiled with; empty: none
};

/// Returns build type and sanitizers: `Release`, `Debug, address,undefined`.
std::string build_type();
/// Returns the commit of the sources of this build, with `+` behind it if they were changed; empty if
/// unknown.
std::string build_commit();

/// Returns this program with the build information of these sources.
WorkerProgram this_program(const char* path);

/// The main function of a worker: describes the variants, calls their estimators, or measures cases, each as
/// a Google Benchmark benchmark. Returns the exit code and does not throw. `--help` prints the options.
/// Without arguments it prints how peakmark measures it, and returns 2.
///
/// Protocol between worker and supervisor:
/// - `--describe` prints the Description as JSON (measure/runfile/description_json.hpp);
/// - `--estimate` answers questions from standard input, one per line (measure/worker/worker_services.hpp);
/// - `--label L`, together with any of these, appends `.L` to the names of all variants;
/// - `--cases -` reads the names of all cases from standard input, one per line, until its end;
/// - `--observations-fd N` writes to that descriptor, for each case, the line {"start": "<case>"} before the
///   case begins and its observation (measure/runfile/run_file.hpp, `to_json_line`) when it has ended;
/// - `--reference` writes the line {"reference_ns": …, "arithmetic_ns": …, "copy_bytes": …} before the first
///   case, and between cases if a supervised worker times them. Without --cases it writes nothing else.
///   Without --observations-fd it writes to standard output.
///
/// Environment: PEAKMARK_RECORDER_LIBRARY is the absolute path of the recorder that OPENCL_LAYERS or
/// CUDA_INJECTION64_PATH has loaded; PEAKMARK_PROFILE is the file that the recorder writes.
///
/// Exit codes (ExitCode): before the first case, 2 for an error in the cases, 4 if there is no such device, 5
/// if --require-recorder is given and there is no recorder. 3 after a case failed, also if the worker ended
/// early because a case left memory on the device or broke it: the supervisor then gives the cases without a
/// start line to a new worker. A supervised worker is killed when its supervisor ends.
int peakmark_worker_main(int argc, char** argv, const Registry& registry);
int peakmark_worker_main(int argc, char** argv, const Registry& registry, const WorkerProgram& program);

}  // namespace peakmark

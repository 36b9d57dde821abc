#pragma once

#include <string>

#include "worker/variant.hpp"

namespace peakmark {

/// The information about a worker program in addition to its variants.
struct WorkerProgram {
  std::string name;    ///< name and version
  std::string build;   ///< `Release`, `Debug`, with sanitizers named
  std::string commit;  ///< of its sources; empty where unknown
  std::string api;     ///< version of the public API that it is built on; empty: none
};

/// `Release`, `Debug, address,undefined`: build type and sanitizers.
std::string build_type();
/// Of the sources this was built from, `+` behind it where they were changed; empty where unknown.
std::string build_commit();

/// Returns this program with the build information of these sources.
WorkerProgram this_program(const char* path);

/// The main function of a worker: describes the variants, calls their estimators, or measures cases, each as
/// a Google Benchmark benchmark. Returns the exit code and does not throw. `--help` prints the options.
///
/// Between worker and supervisor:
/// - `--describe` prints the Description as JSON (runfile/description_json.hpp);
/// - `--estimate` answers questions on standard input, a line each (worker/estimate_service.hpp);
/// - `--label L`, with any of these, has the names of all variants end with `.L`;
/// - `--cases -` reads the names of all cases, a line each, until the end of standard input;
/// - `--observations-fd N` gets, for each case, the line {"start": "<case>"} before anything is done for it,
/// and
///   its observation (runfile/run_file.hpp, `to_json_line`) when it is through;
/// - `--reference` gives the line {"reference_ns": …, "arithmetic_ns": …, "copy_bytes": …} before the first
/// case, and without
///   --cases nothing else. A supervised worker that times cases writes such lines between them, too.
///   Without --observations-fd it goes to standard output.
/// Environment: PEAKMARK_RECORDER_LIBRARY is the absolute path of the recorder that OPENCL_LAYERS or
/// CUDA_INJECTION64_PATH has loaded; PEAKMARK_PROFILE where it writes.
///
/// Exit codes, of ExitCode: 2, 4, 5 before the first case, for a mistake in the cases, no such device, no
/// recorder though --require-recorder. 3 after a case that failed; also when the worker has ended early,
/// because a case left memory on the device or broke it: the cases without a start line are for its
/// successor. A supervised worker is killed when its supervisor ends.
int peakmark_worker_main(int argc, char** argv, const Registry& registry);
int peakmark_worker_main(int argc, char** argv, const Registry& registry, const WorkerProgram& program);

}  // namespace peakmark

#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "measure/device/doctor.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/supervise/run_selection.hpp"

namespace peakmark {

class RunJournal;

/// Returns the context of a new run of this selection, with a new id and the current date. `host_name`:
/// contains this machine's name instead of its hash.
RunContext make_run_context(const Selection& selection, const Description& description, bool memory_only,
                            bool host_name = false);

/// Adds clocks, memory in use and other facts of the machine to the context. Unknown facts are left out.
void add_machine_facts(RunContext& context, const MachineFacts& facts, const DeviceInfo& device);

/// Returns a unique id that sorts by time: `20260131T020000Z-0123456789abcdef`.
std::string make_run_id();

/// Returns the environment variables that affect measurements and may be published, and this machine's kernel
/// and CPU.
std::map<std::string, std::string> measurement_environment();

/// Returns a warning if the first and the last reference time differ by more than 5 %; else empty.
std::string reference_warning(const ReferenceTimes& times);

/// Prints the device of the run.
void say_device(const DeviceInfo& device);
/// Prints that the worker checks the cases, if there are so many that this takes a while.
void say_checking(std::size_t cases);

/// Prints problems that affect this run, and adds them to the warnings of the context.
void note_findings(const MachineFacts& facts, const DeviceInfo& device, RunContext& context);

/// Starts a new run; prints where an earlier, incomplete one is kept.
void start_journal(RunJournal& journal, RunContext context, const std::filesystem::path& run_file);

}  // namespace peakmark

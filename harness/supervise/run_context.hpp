#pragma once

#include <map>
#include <string>

#include "device/doctor.hpp"
#include "runfile/run_file.hpp"
#include "supervise/run_selection.hpp"

namespace peakmark {

/// A new run of this selection: an id of its own, now, here, with this worker.
/// `host_name`: with this machine's name, not its mark.
RunContext make_run_context(const Selection& selection, const Description& description, bool memory_only,
                            bool host_name = false);

/// Clocks, memory in use and what else the machine tells, into the run's environment. What is unknown is not
/// there.
void add_machine_facts(RunContext& context, const MachineFacts& facts, const DeviceInfo& device);

/// `20260131T020000Z-0123456789abcdef`: sorts by time, and no two are alike.
std::string make_run_id();

/// Variables that bear on measurements and may be published, and the kernel and CPU of this machine.
std::map<std::string, std::string> measurement_environment();

/// How far two reference times are apart, as a part of the first, told when it is more than 5 %; else empty.
std::string reference_warning(const ReferenceTimes& times);

}  // namespace peakmark

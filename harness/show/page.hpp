#pragma once

#include <ostream>

#include "show/profile_reports.hpp"

namespace peakmark {

/// One page for a browser that needs nothing else, from disk or from a server: live bytes over time with the
/// phases, what was live at the peak, what leaked, and the bytes at the peak by call stack. Its element
/// `data` holds, as JSON, `profile` (what profile_json gives) and a view a process (see docs/formats.md). The
/// size of the page does not grow with the number of events.
void write_page(const RecordedTree& tree, const ReportOptions& options, std::ostream& out);

}  // namespace peakmark

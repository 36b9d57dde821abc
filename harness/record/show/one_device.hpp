#pragma once

#include <string>

#include "record/show/process_tree.hpp"

namespace peakmark {

/// Keeps of a program that used several devices in one process the memory of the device that needs most: the
/// budget, the window of an estimator and the formulas are of one device. Returns the peaks of all, for
/// people; empty, and changes nothing, if it used one device.
std::string keep_one_device(RecordedTree& tree);

}  // namespace peakmark

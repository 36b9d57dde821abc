#pragma once

#include <string>

#include "record/show/process_tree.hpp"

namespace peakmark {

/// If a process of the program used several devices, keeps only the memory of the device with the highest
/// peak, because budget, estimator window and formulas apply to one device. Returns a text with the peaks of
/// all devices. If it used only one device, changes nothing and returns an empty text.
std::string keep_one_device(RecordedTree& tree);

}  // namespace peakmark

#pragma once

#include <CL/cl_icd.h>

/// The entry points of a layer of the OpenCL loader, and its tables: linked into each layer of the tests.
namespace peakmark::test_layer {

extern cl_icd_dispatch next;  ///< the functions behind the layer

/// Sets the functions of the layer; null: a call goes to `next`. Each layer defines it.
void set_hooks(cl_icd_dispatch& hooks);

}  // namespace peakmark::test_layer

#pragma once

// A process can hold several loaders of OpenCL: a Python wheel brings one of its own, a library beside it
// links the system's. A loader shows its calls to the layer only once it has been asked for its platforms,
// and one that only ever gets handles made by the other is never asked. So the recorder asks.

namespace peakmark::opencl_layer {

/// Notes that the loader in which `caller`'s code stands has handed us its table.
void note_reached(const void* caller);

/// Asks every loader of this process that has not come to us for its platforms, which brings it to us. The
/// first call also loads the system's loader (libOpenCL.so.1), so that a library that links it later finds it
/// asked already. Call it with no lock held.
void reach_loaders();

/// Writes a note of each loader in this process that has not come to us, and tells the trouble, once each: at
/// the end of all, before of those that were asked in vain. One whose functions nobody gets, since those of
/// another loader come first in the order of symbols (LD_PRELOAD), is left out.
enum class Moment { running, end };
void tell_of_unreached(Moment moment);

/// True when tell_of_unreached() has told of one.
bool has_unreached();

/// Hooks calls that a program makes seldom and before it allocates: loaders that have come since are reached
/// there.
void hook_arrivals();

}  // namespace peakmark::opencl_layer

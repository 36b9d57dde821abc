#include "cmake/precompiled.hpp"

#define PEAKMARK_TEMPLATE(...) template class __VA_ARGS__;
PEAKMARK_COMPILED_ONCE(PEAKMARK_TEMPLATE)

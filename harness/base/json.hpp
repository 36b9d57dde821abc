#pragma once

// For .cpp files, and headers that only they include: nlohmann's header takes seconds to compile.

#if defined(__OPTIMIZE__) && !defined(JSON_ASSERT)
// The assertions check all children whenever a value is moved: a fifth of the time of a command on a large
// run.
#define JSON_ASSERT(condition) static_cast<void>(0)
#endif
#include <nlohmann/json.hpp>

#pragma once

// What the fake CUPTI exports beside CUPTI's own functions, for test programs, and the variables that it reads:
//   FAKE_CUPTI_SUBSCRIBER=NAME  another tool has subscribed
//   FAKE_CUPTI_REFUSES=13:999   the library of this major version refuses to be subscribed to, by this CUptiResult
//   FAKE_CUPTI_DROPS=N          the first N kernel records are dropped
//   FAKE_CUPTI_ZERO_TIMES=N     the first N kernel records have no times
#ifdef __cplusplus
extern "C" {
#endif

/// CUPTI meets an error from which it does not recover: it says so and ends itself.
void fake_cupti_fatal_error(void);

#ifdef __cplusplus
}
#endif

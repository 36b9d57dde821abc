#pragma once

// The functions of the fake CUPTI besides CUPTI's, for test programs, and the variables that it reads:
//   FAKE_CUPTI_SUBSCRIBER=NAME  another tool has subscribed
//   FAKE_CUPTI_REFUSES=13:999   cuptiSubscribe of this major version returns this CUptiResult
//   FAKE_CUPTI_DROPS=N          the first N kernel records are dropped
//   FAKE_CUPTI_ZERO_TIMES=N     the first N kernel records have no times
#ifdef __cplusplus
extern "C" {
#endif

/// Simulates a fatal error of CUPTI, which ends it.
void fake_cupti_fatal_error(void);

#ifdef __cplusplus
}
#endif

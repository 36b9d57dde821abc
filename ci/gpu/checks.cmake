# The checks that need a GPU, in the order in which they run: that of the rows of docs/gpu-status.md, the oldest unverified first.
# gpu-check runs them by ctest in a folder of its own. A check prints the numbers that verify it; its exit code 77 is "skipped".
get_filename_component(bundle ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(bin ${bundle}/bin)
find_program(python python3 REQUIRED)

# check(NAME GROUP SECONDS COMMAND…): the check is ended after these seconds.
function(check name group seconds)
  add_test(${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "cuda;${group}" TIMEOUT ${seconds} SKIP_RETURN_CODE 77
    # Of GoogleTest if each test was skipped, and of compute-sanitizer.
    SKIP_REGULAR_EXPRESSION "PASSED  . 0 tests\\.\n(.  SKIPPED . [^\n]*\n)+\n*$;Device not supported"
    # Of GoogleTest; of compute-sanitizer, also for what it calls a warning; of peakmark-bench for an outcome other than `unsupported`.
    FAIL_REGULAR_EXPRESSION "FAILED  .;SUMMARY: [1-9];ERROR OCCURRED: '[^u]")
endfunction()

# passes(NAME REGEX): the output must match, whatever the exit code is. A signal still fails the check.
function(passes name regex)
  set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION ${regex})
endfunction()
set(tests_passed "PASSED  . [1-9]")

# record(NAME GROUP SECONDS [OPTION…] -- PROGRAM…): records a program that prints its own figures, and compares them.
function(record name group seconds)
  check(${name} ${group} ${seconds} ${python} ${bundle}/gpu/record.py ${name} ${ARGN})
endfunction()

# suite(NAME GROUP SECONDS FILE [OPTION OF peakmark run…]): measures a suite and judges its bytes and estimates, 0 bytes off. The
# options replace `--backend cuda`.
function(suite name group seconds file)
  if(NOT ARGN MATCHES "--worker")
    set(backend --backend cuda)
  endif()
  math(EXPR timeout "${seconds} + 30") # `run` ends by itself before
  check(${name} ${group} ${timeout} ${python} ${bundle}/gpu/suite.py ${name} ${seconds} ${bundle}/${file} ${backend}
    --require cuda ${ARGN})
endfunction()

# times(NAME GROUP): judges the times of the suite NAME.
function(times name group)
  check(times-${name} ${group} 60 ${python} ${bundle}/gpu/check_times.py ${name}.json ${name}.verdicts.json)
endfunction()

# ---- core ----
execute_process(COMMAND nvidia-smi --query-gpu=name --format=csv,noheader OUTPUT_VARIABLE gpu ERROR_QUIET)
string(REGEX REPLACE "\n.*" "" gpu "${gpu}")
check(devices core 60 ${bin}/peakmark devices --json)
passes(devices "\"backend\": \"cuda\",[^}]*\"name\": \"${gpu}\"")

file(GLOB programs ${bundle}/tests/*_test)
foreach(program ${programs})
  get_filename_component(name ${program} NAME)
  check(${name} core 120 ${program} --gtest_brief=1)
  passes(${name} ${tests_passed})
endforeach()

record(record-known-bytes core 60 -- ${bin}/peakmark-every-allocation)
set_tests_properties(record-known-bytes PROPERTIES ENVIRONMENT PEAKMARK_ACTIVITY_CHECK=1)
# The profile of CUPTI's memory records is next to that of its callbacks.
check(record-callbacks-records core 60 sh -c
  "test -e record-known-bytes || exit 77 && exec '${bin}/peakmark-compare-accounts' record-known-bytes record-known-bytes*.activity*")
record(record-sync core 60 --sync -- ${bin}/peakmark-every-allocation)
record(record-budget core 60 --budget 1073741824 -- ${bin}/peakmark-every-allocation fill 1073741824)
foreach(scenario pool primary-release primary-reset handle)
  record(contexts-${scenario} core 60 -- ${bin}/peakmark-context-memory ${scenario})
endforeach()
check(cost core 60 ${python} ${bundle}/gpu/cost.py ${bin}/peakmark-every-allocation)

check(record-profiles core 90 ${bundle}/record-profiles cuda profiles ${bundle}/suites/recorded/expected.toml)
suite(smoke core 70 suites/smoke.toml)
suite(cuda-sum core 30 examples/sum.toml --worker ${bundle}/examples/sum)
# A benchmark of it allocates 1000 bytes, and 4096 and 3 in each of 4 iterations; another leaks 500.
check(google-benchmark core 60 ${bundle}/examples/peakmark-cuda-benchmark --benchmark_format=json)
string(JOIN "[^}]*" row "\"name\": \"buffers/4096/iterations:4\"" "\"max_bytes_used\": 5099" "\"total_allocated_bytes\": 17396"
  "\"net_heap_growth\": 0")
passes(google-benchmark "${row}.*\"name\": \"leak/iterations:1\"[^}]*\"net_heap_growth\": 500\n")

find_program(sanitizer compute-sanitizer PATHS /usr/local/cuda/bin $ENV{CUDA_HOME}/bin $ENV{VIRTUAL_ENV}/bin)
# sanitizer(NAME TOOL INPUT PROGRAM): runs a program under a tool of compute-sanitizer. Failed calls of the driver are not reported,
# since some tests provoke them; our code checks the result of every call.
function(sanitizer name tool input program)
  if(sanitizer)
    set(options --error-exitcode 9)
    if(tool STREQUAL memcheck)
      list(APPEND options --report-api-errors no)
    endif()
    list(JOIN options " " options)
    check(sanitizer-${name} core 120 sh -c "${input} '${sanitizer}' --tool ${tool} ${options} ${program}")
  else()
    check(sanitizer-${name} core 10 sh -c "echo compute-sanitizer is not found && exit 77")
  endif()
endfunction()
foreach(tool memcheck racecheck initcheck)
  sanitizer(${tool} ${tool} "" "'${bundle}/tests/cuda_device_test' --gtest_brief=1 --gtest_filter='-*Beyond32*'")
  if(sanitizer)
    passes(sanitizer-${tool} ${tests_passed})
  endif()
endforeach()
sanitizer(kernels memcheck "'${bin}/peakmark' list '${bundle}/suites/smoke.toml' --backend cuda |"
  "'${bin}/peakmark-bench' --backend cuda --memory-only --cases -")

# ---- sweep ----
suite(nightly sweep 500 suites/nightly.toml)
times(nightly sweep)

# ---- fbp: a slice of 43200 x 16384 takes 1.2e13 interpolations ----
function(fbp name seconds cases)
  suite(fbp-${name} fbp ${seconds} suites/fbp-large.toml --timeout ${seconds} --filter ${cases} ${ARGN})
endfunction()
fbp(headline 130 "^fbp/(inplace|kept)/cuda/n_a:43200/w:16384/n_z:1$" --memory-only)
fbp(times 110 "n_a:(2880|7200)/w:[0-9]+/n_z:1(00)?(/angles:.*)?$")
fbp(peaks 80 "n_a:(2880|7200)/(?!.*mode:)" --memory-only)
fbp(whole 110 "^fbp/whole/cuda/n_a:43200/w:16384/n_z:1$" --memory-only)
fbp(edge 110 "fbp/inplace/.*mode:edge|n_a:(2880|7200)/.*mode:edge" --memory-only)

# ---- large ----
suite(large large 480 suites/large.toml)
times(large large)

# ---- python ----
set(memory ${python} ${bundle}/gpu/package_memory.py)
record(cupy-no-pool python 60 -- ${memory} cupy no-pool)
record(cupy-pool python 60 -- ${memory} cupy pool)
# Libraries that CuPy uses (cuFFT, cuBLAS) also allocate memory by themselves.
check(cupy-functions python 100 sh -c
  "'${python}' -c 'import cupy' 2>&1 || exit 77 && exec '${python}' '${bundle}/suites/clients/cupy_pool.py' --python '${python}'")
record(torch-no-cache python 60 -- ${memory} torch no-cache)
record(torch-cache python 60 -- ${memory} torch cache)
record(torch-unet python 120 -- ${python} ${bundle}/suites/clients/torch_unet.py --step training 4 256 256)
foreach(package cupy torch)
  check(plugin-${package} python 90 ${python} ${bundle}/gpu/plugin_check.py ${package} plugin-${package})
endforeach()

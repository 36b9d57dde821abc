# peakmark_module(NAME SOURCES a.cpp b.cpp LINK lib… TESTS a_test.cpp … TEST_LINK lib… [LABELS …])
# A module: a static library peakmark_NAME (an interface library where it has no sources) and a test
# program NAME_test, whose tests stand beside what they test. Includes are written from harness/ or from the root.
function(peakmark_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;LINK;TESTS;TEST_LINK;LABELS" ${ARGN})
  if(MODULE_SOURCES)
    add_library(peakmark_${name} STATIC ${MODULE_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(peakmark_${name} PRIVATE $<BUILD_INTERFACE:peakmark_warnings>)
  else()
    add_library(peakmark_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(peakmark_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/harness> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  foreach(library ${MODULE_LINK})
    # Modules are defined in the order of harness/CMakeLists.txt, so a pure one cannot link one that is not.
    if(library MATCHES "^peakmark_" AND NOT TARGET ${library})
      message(FATAL_ERROR "module ${name} links ${library}, which comes after it")
    endif()
  endforeach()
  target_link_libraries(peakmark_${name} ${scope} ${MODULE_LINK})
  if(PEAKMARK_TESTS AND MODULE_TESTS)
    peakmark_test(${name}_test SOURCES ${MODULE_TESTS} LINK peakmark_${name} ${MODULE_TEST_LINK} LABELS ${MODULE_LABELS})
  endif()
endfunction()

# peakmark_test(NAME SOURCES … LINK … [LABELS …]): a GoogleTest program; ctest shows each of its tests.
# Labels: `pure` (no device), `dry`, `opencl`, `cuda`; and `threads` where it, or a program that it starts, has several: TSan
# sees nothing in one thread, so those alone are built with it.
function(peakmark_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  peakmark_compile_as_test(${name})
  target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gmock GTest::gtest_main peakmark_warnings)
  peakmark_precompile_gmock(${name})
  peakmark_tests_of_label(${name} ${TEST_LABELS})
  peakmark_tell_ctest(${name} LABELS ${TEST_LABELS})
endfunction()

# peakmark_compile_as_test(TARGET): tests are most of what is compiled, and what they test stands in libraries that are
# optimised.
function(peakmark_compile_as_test name)
  target_compile_options(${name} PRIVATE -O0)
  if(PEAKMARK_SANITIZE MATCHES "undefined")
    # Checks of every pointer take a fifth of the time; what a test itself follows, ASan sees.
    target_compile_options(${name} PRIVATE -fno-sanitize=null,alignment)
  endif()
endfunction()

# peakmark_tell_ctest(PROGRAM [LABELS …] [FILTER PATTERN SUFFIX NAME]): ctest shows each test of a GoogleTest program (of
# those of the filter, where there is one; the suffix tells several filters of a program apart). With
# PEAKMARK_TESTS_BY_PROGRAM it shows the program: one start of PoCL, or of a sanitizer, for all of its tests, where a
# process a test takes six times as long.
function(peakmark_tell_ctest program)
  cmake_parse_arguments(TEST "" "FILTER;SUFFIX" "LABELS" ${ARGN})
  if(NOT TEST_FILTER)
    set(TEST_FILTER *)
  endif()
  if(PEAKMARK_TESTS_BY_PROGRAM)
    set(filter "")
    if(NOT TEST_FILTER STREQUAL *)
      set(filter --gtest_filter=${TEST_FILTER})  # without it, GTEST_FILTER may choose
    endif()
    add_test(NAME ${program}${TEST_SUFFIX} COMMAND ${program} --gtest_brief=1 ${filter})
    set_tests_properties(${program}${TEST_SUFFIX} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT 900)
    if("opencl" IN_LIST TEST_LABELS)
      # These start first: they take longest, and what is short fills the cores at the end.
      set_tests_properties(${program}${TEST_SUFFIX} PROPERTIES COST 1)
    endif()
  else()
    include(GoogleTest)
    # It takes no property that is a list. ctest looks for a label anywhere in this one.
    string(REPLACE ";" "_" label "${TEST_LABELS}")
    gtest_discover_tests(${program} TEST_FILTER ${TEST_FILTER} TEST_LIST ${program}${TEST_SUFFIX}_tests
      DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${label}" TIMEOUT 300)
  endif()
endfunction()

# peakmark_tests_of_label(TARGET LABEL…): the target peakmark_tests_LABEL builds all tests of a label, for builds that
# want no others (TSan).
function(peakmark_tests_of_label name)
  foreach(label ${ARGN})
    if(NOT TARGET peakmark_tests_${label})
      add_custom_target(peakmark_tests_${label})
    endif()
    add_dependencies(peakmark_tests_${label} ${name})
  endforeach()
endfunction()

# peakmark_precompile_gmock(TARGET): its header, a second of every test's compilation, is compiled once for all tests.
function(peakmark_precompile_gmock name)
  if(NOT TARGET peakmark_gmock_header)
    # An executable, since tests are: a header compiled for a library (-fPIC) is none for them (-fPIE).
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/gmock_header.cpp CONTENT "int main() {}\n")
    add_executable(peakmark_gmock_header ${PROJECT_BINARY_DIR}/gmock_header.cpp)
    peakmark_compile_as_test(peakmark_gmock_header)
    target_link_libraries(peakmark_gmock_header PRIVATE GTest::gmock peakmark_warnings)
    target_precompile_headers(peakmark_gmock_header PRIVATE <gmock/gmock.h>)
  endif()
  target_precompile_headers(${name} REUSE_FROM peakmark_gmock_header)
endfunction()

# peakmark_compile_briefly(TARGET…): for rooms of text and JSON, where nothing is ever hot and -O3 takes twice as long.
function(peakmark_compile_briefly)
  if(PEAKMARK_SANITIZE)
    return()  # nothing is optimised there
  endif()
  foreach(name ${ARGN})
    target_compile_options(${name} PRIVATE -O1)
  endforeach()
endfunction()

# peakmark_find_compare_py(): Google Benchmark's compare.py, for tests of what it must be able to read: PEAKMARK_COMPARE_PY, and
# PEAKMARK_COMPARE_PYTHON, a Python that has the scipy that it wants. Empty where one of them is not here.
function(peakmark_find_compare_py)
  find_file(script compare.py PATHS /usr/share/benchmark NO_DEFAULT_PATH NO_CACHE)
  find_program(python3 python3 PATHS /usr/bin NO_CACHE)
  foreach(python ${python3} /usr/bin/python3)
    execute_process(COMMAND ${python} -c "import scipy.stats" RESULT_VARIABLE has_no_scipy OUTPUT_QUIET ERROR_QUIET)
    if(script AND "${has_no_scipy}" STREQUAL "0")
      set(PEAKMARK_COMPARE_PY ${script} PARENT_SCOPE)
      set(PEAKMARK_COMPARE_PYTHON ${python} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(STATUS "What compare.py must read is not tested: it wants libbenchmark-tools and python3-scipy")
  unset(PEAKMARK_COMPARE_PY PARENT_SCOPE)
endfunction()

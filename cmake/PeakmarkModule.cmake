# peakmark_module(NAME SOURCES a.cpp b.cpp LINK lib… TESTS a_test.cpp … TEST_LINK lib… [LABELS …])
# A module: a static library peakmark_NAME (an interface library without sources) and a test program NAME_test, whose tests are
# next to the tested files. Includes are relative to harness/ or to the root.
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
    if(library MATCHES "^peakmark_(.*)")
      # Modules are defined in the order of harness/CMakeLists.txt.
      if(NOT TARGET ${library})
        message(FATAL_ERROR "module ${name} links ${library}, which comes after it")
      elseif(name IN_LIST PEAKMARK_PURE_MODULES AND NOT CMAKE_MATCH_1 IN_LIST PEAKMARK_PURE_MODULES)
        message(FATAL_ERROR "module ${name} is pure, but links ${library}, which is not")
      endif()
    endif()
  endforeach()
  target_link_libraries(peakmark_${name} ${scope} ${MODULE_LINK})
  if(MODULE_SOURCES)
    peakmark_precompile(peakmark_${name})
    if(NOT PEAKMARK_SANITIZE_POINTERS)
      target_compile_options(peakmark_${name} PRIVATE -fno-sanitize=null,alignment)
    endif()
  endif()
  if(PEAKMARK_TESTS AND MODULE_TESTS)
    peakmark_test(${name}_test SOURCES ${MODULE_TESTS} LINK peakmark_${name} ${MODULE_TEST_LINK} LABELS ${MODULE_LABELS})
  endif()
endfunction()

# peakmark_test(NAME SOURCES … LINK … [LABELS …]): a GoogleTest program; ctest shows each of its tests.
# Labels: `pure` (no device), `dry`, `opencl`, `cuda`. `threads`: it, or a program that it starts, has several threads; only those
# tests are built with TSan. `sanitized`: it is not pure, but runs with ASan since it handles raw memory or descriptors.
# `plain`: it is pure, but not all of it runs with ASan, so it is built even without PEAKMARK_PURE_TESTS. `asan_nightly`: it only
# calculates, and would take half of the time of the pure tests with ASan, so only ci/test allasan runs it with ASan.
function(peakmark_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK;LABELS" ${ARGN})
  if(PEAKMARK_SANITIZE AND "asan_nightly" IN_LIST TEST_LABELS)
    list(REMOVE_ITEM TEST_LABELS pure)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  peakmark_compile_as_test(${name})
  target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gmock GTest::gtest_main peakmark_warnings)
  peakmark_precompile_gmock(${name})
  peakmark_tests_of_label(${name} ${TEST_LABELS})
  if(NOT PEAKMARK_PURE_TESTS AND "pure" IN_LIST TEST_LABELS AND NOT "plain" IN_LIST TEST_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  peakmark_add_gtests(${name} LABELS ${TEST_LABELS})
endfunction()

# peakmark_compile_as_test(TARGET): compiles without optimisation. Tests are most of the code; the tested libraries are
# optimised.
function(peakmark_compile_as_test name)
  target_compile_options(${name} PRIVATE -O0)
  if(PEAKMARK_SANITIZE MATCHES "undefined")
    # Checks of every pointer would take a fifth of the time; ASan also finds bad pointers in tests.
    target_compile_options(${name} PRIVATE -fno-sanitize=null,alignment)
  endif()
endfunction()

# peakmark_add_gtests(PROGRAM [LABELS …] [FILTER PATTERN SUFFIX NAME]): adds each test of a GoogleTest program to ctest (those
# that match the filter; the suffix distinguishes several filters of a program). With PEAKMARK_TESTS_BY_PROGRAM it adds the
# program instead, so that PoCL or a sanitizer starts once for all tests; a process per test takes six times as long.
function(peakmark_add_gtests program)
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
    set_tests_properties(${program}${TEST_SUFFIX} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT 1800)
    if("opencl" IN_LIST TEST_LABELS)
      # They start first, since they take longest.
      set_tests_properties(${program}${TEST_SUFFIX} PROPERTIES COST 1)
    endif()
  else()
    include(GoogleTest)
    # It accepts no list as a property; ctest finds a label anywhere in the text.
    string(REPLACE ";" "_" label "${TEST_LABELS}")
    gtest_discover_tests(${program} TEST_FILTER ${TEST_FILTER} TEST_LIST ${program}${TEST_SUFFIX}_tests
      DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${label}" TIMEOUT 300)
  endif()
endfunction()

# peakmark_tests_of_label(TARGET LABEL…): the target peakmark_tests_LABEL builds all tests of a label, for sanitizers.
function(peakmark_tests_of_label name)
  foreach(label ${ARGN})
    if(NOT TARGET peakmark_tests_${label})
      add_custom_target(peakmark_tests_${label})
    endif()
    add_dependencies(peakmark_tests_${label} ${name})
  endforeach()
endfunction()

# peakmark_precompile(MODULE): uses cmake/precompiled.hpp with PEAKMARK_PRECOMPILE.
function(peakmark_precompile name)
  if(NOT PEAKMARK_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET peakmark_precompiled)
    find_package(fmt REQUIRED)
    find_package(nlohmann_json REQUIRED)
    add_library(peakmark_precompiled STATIC ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
    target_include_directories(peakmark_precompiled PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/harness)
    target_link_libraries(peakmark_precompiled PRIVATE fmt::fmt nlohmann_json::nlohmann_json peakmark_warnings)
    target_precompile_headers(peakmark_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
  endif()
  target_precompile_headers(${name} REUSE_FROM peakmark_precompiled)
  target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:peakmark_precompiled>)
endfunction()

# peakmark_precompile_gmock(TARGET): precompiles gmock's header once for all tests; it takes a second of each test otherwise.
# With PEAKMARK_PRECOMPILE, the headers of modules too.
function(peakmark_precompile_gmock name)
  if(NOT TARGET peakmark_gmock_header)
    # An executable like the tests, since a header compiled with -fPIC cannot be used with -fPIE.
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/gmock_header.cpp CONTENT "int main() {}\n")
    add_executable(peakmark_gmock_header ${PROJECT_BINARY_DIR}/gmock_header.cpp)
    peakmark_compile_as_test(peakmark_gmock_header)
    target_link_libraries(peakmark_gmock_header PRIVATE GTest::gmock peakmark_warnings)
    target_precompile_headers(peakmark_gmock_header PRIVATE <gmock/gmock.h>)
    if(PEAKMARK_PRECOMPILE)
      target_include_directories(peakmark_gmock_header PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/harness)
      target_link_libraries(peakmark_gmock_header PRIVATE fmt::fmt nlohmann_json::nlohmann_json peakmark_precompiled)
      target_precompile_headers(peakmark_gmock_header PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
    endif()
  endif()
  target_precompile_headers(${name} REUSE_FROM peakmark_gmock_header)
  if(PEAKMARK_PRECOMPILE)
    target_link_libraries(${name} PRIVATE peakmark_precompiled)
  endif()
endfunction()

# peakmark_compile_briefly(TARGET [LEVEL]): uses -O1, or another level, for a module or program of text and JSON without hot code;
# -O3 compiles up to twice as long. Has no effect in builds with less optimisation.
function(peakmark_compile_briefly name)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  if(CMAKE_CXX_FLAGS_${type} MATCHES "-O[23]")
    if(NOT ARGN)
      set(ARGN 1)
    endif()
    target_compile_options(${name} PRIVATE -O${ARGN})
  endif()
endfunction()

# peakmark_find_compare_py(): finds Google Benchmark's compare.py (PEAKMARK_COMPARE_PY) and a Python with scipy, which it needs
# (PEAKMARK_COMPARE_PYTHON). Empty if one of them is missing.
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
  message(STATUS "compare.py is not tested: install libbenchmark-tools and python3-scipy")
  unset(PEAKMARK_COMPARE_PY PARENT_SCOPE)
endfunction()

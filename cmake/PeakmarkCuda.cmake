# Finds a CUDA toolkit and sets PEAKMARK_HAS_CUDA. Device code is compiled by nvcc through custom commands, host
# code by the C++ compiler: so the toolkit may be one that is installed or one made of PyPI's wheels (see
# ci/cuda-wheels), whose libraries have versioned names only and which CMake's own CUDA support does not accept.
#
# Nothing links libcuda: a binary must start on a machine without a driver.
set(PEAKMARK_CUDA_ROOT "" CACHE PATH "Root of the CUDA toolkit (bin/nvcc, include, lib); empty: look for one")
set(PEAKMARK_CUDA_ARCHITECTURES "75;80;90" CACHE STRING
    "Compute capabilities to compile device code for; PTX of the last is added for newer devices")
set(PEAKMARK_CUDA_MINIMUM 13.0)  # activity records are read with this release's layouts

set(PEAKMARK_HAS_CUDA FALSE)
function(_peakmark_find_cuda reason_out)
  if(PEAKMARK_CUDA_ROOT)
    set(nvcc ${PEAKMARK_CUDA_ROOT}/bin/nvcc)
  else()
    find_program(nvcc nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /usr/lib/cuda
                 PATH_SUFFIXES bin NO_CACHE)
  endif()
  if(NOT nvcc OR NOT EXISTS ${nvcc})
    set(${reason_out} "no nvcc found; set PEAKMARK_CUDA_ROOT, or make a toolkit with ci/cuda-wheels" PARENT_SCOPE)
    return()
  endif()
  file(REAL_PATH ${nvcc} nvcc)
  cmake_path(GET nvcc PARENT_PATH root)
  cmake_path(GET root PARENT_PATH root)

  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE version RESULT_VARIABLE failed ERROR_QUIET)
  if(failed OR NOT version MATCHES "V([0-9]+\\.[0-9]+\\.[0-9]+)")
    set(${reason_out} "${nvcc} --version does not answer" PARENT_SCOPE)
    return()
  endif()
  set(version ${CMAKE_MATCH_1})
  if(version VERSION_LESS PEAKMARK_CUDA_MINIMUM)
    set(${reason_out} "${nvcc} is ${version}, older than ${PEAKMARK_CUDA_MINIMUM}" PARENT_SCOPE)
    return()
  endif()

  find_path(include cuda_runtime_api.h PATHS ${root}/include ${root}/targets/x86_64-linux/include
            NO_DEFAULT_PATH NO_CACHE)
  find_path(cupti_include cupti.h PATHS ${include} ${root}/extras/CUPTI/include NO_DEFAULT_PATH NO_CACHE)
  find_file(cudart libcudart_static.a PATHS ${root}/lib64 ${root}/lib ${root}/targets/x86_64-linux/lib
            NO_DEFAULT_PATH NO_CACHE)
  # What the FFTs compile with, and do without.
  foreach(part cufft nvrtc)
    string(TOUPPER ${part} upper)
    find_file(${part}_header ${part}.h PATHS ${include} NO_DEFAULT_PATH NO_CACHE)
    if(${part}_header)
      set(PEAKMARK_CUDA_HAS_${upper} TRUE PARENT_SCOPE)
    else()
      message(STATUS "CUDA: ${part}.h is missing: FFTs by it are left out")
    endif()
  endforeach()
  foreach(part include cupti_include cudart)
    if(NOT ${part})
      set(${reason_out} "the toolkit in ${root} is not whole: ${part} is missing" PARENT_SCOPE)
      return()
    endif()
  endforeach()

  if(NOT PEAKMARK_CUDA STREQUAL "RECORDER")
    set(PEAKMARK_HAS_CUDA TRUE PARENT_SCOPE)
  endif()
  set(PEAKMARK_CUDA_VERSION ${version} PARENT_SCOPE)
  set(PEAKMARK_NVCC ${nvcc} PARENT_SCOPE)
  file(WRITE ${CMAKE_BINARY_DIR}/cuda-toolkit.txt "CUDA_ROOT=${root}\nVERSION=${version}\n")

  find_package(Threads REQUIRED)
  add_library(peakmark_cudart INTERFACE)
  target_include_directories(peakmark_cudart SYSTEM INTERFACE ${include})
  target_link_libraries(peakmark_cudart INTERFACE ${cudart} Threads::Threads ${CMAKE_DL_LIBS} rt)
  # Headers only: the recorder takes the functions from the libcupti that its process has.
  add_library(peakmark_cupti_headers INTERFACE)
  target_include_directories(peakmark_cupti_headers SYSTEM INTERFACE ${include} ${cupti_include})
endfunction()

if(NOT PEAKMARK_CUDA STREQUAL "OFF")
  _peakmark_find_cuda(_peakmark_cuda_reason)
  if(PEAKMARK_HAS_CUDA)
    message(STATUS "CUDA: ${PEAKMARK_CUDA_VERSION}, ${PEAKMARK_NVCC}")
  elseif(TARGET peakmark_cupti_headers)
    message(STATUS "CUDA: ${PEAKMARK_CUDA_VERSION}, its recorder only")
  elseif(PEAKMARK_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA: built without it (${_peakmark_cuda_reason})")
  else()
    message(FATAL_ERROR "PEAKMARK_CUDA is ${PEAKMARK_CUDA}, but ${_peakmark_cuda_reason}")
  endif()
endif()

# peakmark_cuda_fatbin(OUTPUT.inc SOURCE DTYPE [FILE…])
# Compiles device code written in the dialect of harness/device/kernel_language.h for one element type, and writes
# the fatbin as a list of C bytes. FILEs are what SOURCE includes.
function(peakmark_cuda_fatbin output source dtype)
  set(language ${PROJECT_SOURCE_DIR}/harness/device/kernel_language.h)
  set(hex ${PROJECT_SOURCE_DIR}/cmake/PeakmarkHex.cmake)
  set(fatbin ${output}.fatbin)
  set(targets "")
  foreach(architecture ${PEAKMARK_CUDA_ARCHITECTURES})
    list(APPEND targets -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(GET PEAKMARK_CUDA_ARCHITECTURES -1 newest)
  list(APPEND targets -gencode arch=compute_${newest},code=compute_${newest})
  cmake_path(GET output FILENAME name)
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${PEAKMARK_NVCC} -fatbin -O3 -std=c++17 ${targets} -ccbin ${CMAKE_CXX_COMPILER}
            -include ${language} -DPM_DTYPE_${dtype} -x cu ${source} -o ${fatbin}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${fatbin} -DOUTPUT=${output} -P ${hex}
    DEPENDS ${source} ${ARGN} ${language} ${hex} ${PEAKMARK_NVCC}
    COMMENT "Compiling ${name} for CUDA"
    VERBATIM)
endfunction()

# peakmark_cuda_test(NAME SOURCES … LINK …): a test program that needs a CUDA device. It is compiled always; ctest
# knows it (label `cuda`) only where there is a device now, and ci/gpu-check runs it on a machine that has one.
if(PEAKMARK_HAS_CUDA)
  file(GLOB PEAKMARK_CUDA_DEVICES /dev/nvidia[0-9]* /dev/dxg)
  if(NOT PEAKMARK_CUDA_DEVICES)
    message(STATUS "CUDA: no device here; tests labelled cuda are compiled and not run (ci/gpu-check runs them)")
  endif()
endif()
function(peakmark_cuda_test name)
  if(PEAKMARK_CUDA_DEVICES)
    peakmark_test(${name} ${ARGN} LABELS cuda)
  else()
    cmake_parse_arguments(TEST "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${TEST_SOURCES})
    peakmark_compile_as_test(${name})
    target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gmock GTest::gtest_main peakmark_warnings)
    peakmark_precompile_gmock(${name})
  endif()
  file(APPEND ${PEAKMARK_CUDA_TEST_LIST} "${name}\n")  # for ci/gpu-bundle
endfunction()

# peakmark_device_test(NAME SOURCES … LINK …): tests that open a device by open_tested() of
# kernels/common/variant_testing.hpp. NAME_test runs them on OpenCL, NAME_cuda_test the same on CUDA.
function(peakmark_device_test name)
  if(PEAKMARK_OPENCL)
    peakmark_test(${name}_test ${ARGN} LABELS opencl)
  endif()
  if(PEAKMARK_HAS_CUDA)
    peakmark_cuda_test(${name}_cuda_test ${ARGN})
    target_compile_definitions(${name}_cuda_test PRIVATE PEAKMARK_TESTS_ON_CUDA)
  endif()
endfunction()

set(PEAKMARK_CUDA_TEST_LIST ${CMAKE_BINARY_DIR}/cuda-tests.txt)
file(WRITE ${PEAKMARK_CUDA_TEST_LIST} "")

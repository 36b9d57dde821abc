# Finds a CUDA toolkit and sets PEAKMARK_HAS_CUDA. nvcc compiles device code through custom commands, and the C++ compiler host
# code: so the toolkit may consist of PyPI's wheels (ci/cuda-wheels), which CMake's CUDA language does not accept. Nothing links
# libcuda: programs must start on a machine without a driver.
#
# -DCUDAToolkit_ROOT=… names the toolkit; without it, CUDA_HOME, CUDA_PATH, PATH and /usr/local/cuda are searched.
set(PEAKMARK_CUDA_ARCHITECTURES "75;80;90" CACHE STRING
    "Compute capabilities to compile device code for; PTX of the last is added for newer devices")
set(PEAKMARK_MIN_CUDA 13.0)  # activity records are read with the layouts of this release

set(PEAKMARK_HAS_CUDA FALSE)
if(NOT PEAKMARK_CUDA STREQUAL "OFF")
  set(error "")
  if(CUDAToolkit_ROOT AND NOT EXISTS ${CUDAToolkit_ROOT}/bin/nvcc)
    set(error "no bin/nvcc in CUDAToolkit_ROOT: ${CUDAToolkit_ROOT}")
  elseif(NOT CUDAToolkit_ROOT AND DEFINED ENV{CUDA_HOME})
    set(CUDAToolkit_ROOT $ENV{CUDA_HOME})
  endif()
  if(CUDAToolkit_ROOT)
    # FindCUDAToolkit needs some library of the runtime to find the folder; wheels have the static one only.
    find_library(CUDA_CUDART NAMES cudart libcudart_static.a
                 PATHS ${CUDAToolkit_ROOT} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib NO_DEFAULT_PATH)
  endif()
  peakmark_find_cuda_toolkit()
  if(error)
    # The search may have found another toolkit than the named one.
  elseif(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(error "no CUDA toolkit found; set CUDAToolkit_ROOT, or make a toolkit with ci/cuda-wheels")
  elseif(CUDAToolkit_VERSION VERSION_LESS PEAKMARK_MIN_CUDA)
    set(error "CUDA ${CUDAToolkit_VERSION} in ${CUDAToolkit_BIN_DIR} is older than ${PEAKMARK_MIN_CUDA}")
  elseif(NOT TARGET CUDA::cudart_static OR NOT CUDAToolkit_CUPTI_INCLUDE_DIR)
    set(error "incomplete CUDA toolkit in ${CUDAToolkit_BIN_DIR}: libcudart_static.a or cupti.h is missing")
  endif()
  if(NOT error)
    # Toolkits of wheels may lack the libraries of the FFTs, which need only the headers to be compiled.
    foreach(part cufft nvrtc)
      string(TOUPPER ${part} upper)
      if(EXISTS ${CUDAToolkit_INCLUDE_DIR}/${part}.h)
        set(PEAKMARK_CUDA_HAS_${upper} TRUE)
      else()
        message(STATUS "CUDA: ${part}.h is missing: its FFTs are left out")
      endif()
    endforeach()
    add_library(peakmark_cudart INTERFACE)
    target_include_directories(peakmark_cudart SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(peakmark_cudart INTERFACE CUDA::cudart_static)
    # Headers only: the recorder calls the libcupti of its process.
    add_library(peakmark_cupti_headers INTERFACE)
    target_include_directories(peakmark_cupti_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_CUPTI_INCLUDE_DIR})
    # For scripts
    cmake_path(GET CUDAToolkit_BIN_DIR PARENT_PATH root)
    file(WRITE ${CMAKE_BINARY_DIR}/cuda-toolkit.txt "CUDA_ROOT=${root}\nVERSION=${CUDAToolkit_VERSION}\n")
    if(PEAKMARK_CUDA STREQUAL "RECORDER")
      message(STATUS "CUDA: ${CUDAToolkit_VERSION}, its recorder only")
    else()
      set(PEAKMARK_HAS_CUDA TRUE)
      message(STATUS "CUDA: ${CUDAToolkit_VERSION}, ${CUDAToolkit_NVCC_EXECUTABLE}")
    endif()
  elseif(PEAKMARK_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA: built without it (${error})")
  else()
    message(FATAL_ERROR "PEAKMARK_CUDA is ${PEAKMARK_CUDA}, but ${error}")
  endif()
endif()

# peakmark_cuda_test(NAME SOURCES … LINK …): a test program that needs a CUDA device. It is always compiled; ctest runs it (label
# `cuda`) only if this machine has a device, and ci/gpu-check runs it on a machine that has one.
if(PEAKMARK_HAS_CUDA)
  file(GLOB PEAKMARK_CUDA_DEVICES /dev/nvidia[0-9]* /dev/dxg)
  if(NOT PEAKMARK_CUDA_DEVICES)
    message(STATUS "CUDA: no device here: tests labelled cuda are compiled and not run (ci/gpu-check runs them)")
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

# peakmark_device_test(NAME SOURCES … LINK …): tests that open a device by open_tested() of kernels/common/variant_testing.hpp.
# NAME_test runs them on OpenCL, NAME_cuda_test on CUDA.
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

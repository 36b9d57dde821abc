/* The macros in which device code is written: compiled as OpenCL C 1.2 at run time and as CUDA C++ at build time. The
 * backend puts this file in front of every kernel source and defines PM_DTYPE_<name>, which selects pm_element.
 *
 * A kernel:
 *     PM_KERNEL(scale)(PM_GLOBAL pm_element* data, pm_long count, pm_element factor) {
 *       const pm_long i = pm_global_x();
 *       if (i < count) data[i] *= factor;
 *     }
 * Rules: 64-bit sizes are pm_long (OpenCL C forbids size_t as an argument); check bounds, since backends round the global
 * size up; use x for large dimensions (CUDA's maximum along y and z is 65,535 groups); no templates, overloads or C++.
 *
 * PM_LOCAL_PTR(type) is a pointer into local memory, PM_FMA(a, b, c) a product and a sum rounded once, PM_FLOAT_BITS(value)
 * the bits of a float as an int.
 *
 * Above each kernel is one of two lines, which ci/kernel_budgets.py reads and checks by ptxas -v for sm_90:
 *     PM_REGISTERS(scale, 16)   on a GPU: at most 16 registers for any element type, no stack, no spills
 *     PM_CPU_ONLY(scale_rows)   never launched on a GPU: not checked
 * Registers are allocated by eights: 32 let a multiprocessor hold 2048 threads, 40 hold 1536, 64 hold 1024.
 */
#define PM_REGISTERS(kernel, max)
#define PM_CPU_ONLY(kernel)

#ifdef __CUDACC__

#define PM_KERNEL(name) extern "C" __global__ void name
#define PM_DEVICE static __device__ __forceinline__
#define PM_GLOBAL
#define PM_CONSTANT __constant__ const
#define PM_LOCAL __shared__
#define PM_LOCAL_PTR(type) type*
#define PM_RESTRICT __restrict__
#define PM_BARRIER() __syncthreads()
#define PM_FMA(a, b, c) fmaf(a, b, c)
#define PM_FLOAT_BITS(value) __float_as_int(value)
typedef long long pm_long;
typedef unsigned long long pm_ulong;
typedef int pm_int;
typedef unsigned int pm_uint;
typedef unsigned short pm_ushort;
typedef unsigned char pm_uchar;
typedef uint4 pm_uint4; /* 16 bytes in one access, where the address is a multiple of 16 */
/* Widened before the product: blockIdx and blockDim are 32-bit. */
PM_DEVICE pm_long pm_global_x() { return (pm_long)blockIdx.x * blockDim.x + threadIdx.x; }
PM_DEVICE pm_long pm_global_y() { return (pm_long)blockIdx.y * blockDim.y + threadIdx.y; }
PM_DEVICE pm_long pm_global_z() { return (pm_long)blockIdx.z * blockDim.z + threadIdx.z; }
PM_DEVICE pm_int pm_local_x() { return (pm_int)threadIdx.x; }
PM_DEVICE pm_int pm_local_y() { return (pm_int)threadIdx.y; }
PM_DEVICE pm_int pm_local_size_x() { return (pm_int)blockDim.x; }

#else /* OpenCL C */

#pragma OPENCL FP_CONTRACT ON
#define PM_KERNEL(name) __kernel void name
#define PM_DEVICE static inline
#define PM_GLOBAL __global
#define PM_CONSTANT __constant
#define PM_LOCAL __local
#define PM_LOCAL_PTR(type) __local type*
#define PM_RESTRICT restrict
#define PM_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define PM_FMA(a, b, c) fma(a, b, c)
#define PM_FLOAT_BITS(value) as_int(value)
typedef long pm_long;
typedef unsigned long pm_ulong;
typedef int pm_int;
typedef unsigned int pm_uint;
typedef unsigned short pm_ushort;
typedef unsigned char pm_uchar;
typedef uint4 pm_uint4; /* 16 bytes in one access, where the address is a multiple of 16 */
PM_DEVICE pm_long pm_global_x(void) { return (pm_long)get_global_id(0); }
PM_DEVICE pm_long pm_global_y(void) { return (pm_long)get_global_id(1); }
PM_DEVICE pm_long pm_global_z(void) { return (pm_long)get_global_id(2); }
PM_DEVICE pm_int pm_local_x(void) { return (pm_int)get_local_id(0); }
PM_DEVICE pm_int pm_local_y(void) { return (pm_int)get_local_id(1); }
PM_DEVICE pm_int pm_local_size_x(void) { return (pm_int)get_local_size(0); }

#endif

#if defined(PM_DTYPE_u8)
typedef pm_uchar pm_element;
#elif defined(PM_DTYPE_i8)
typedef signed char pm_element;
#elif defined(PM_DTYPE_u16)
typedef pm_ushort pm_element;
#elif defined(PM_DTYPE_i16)
typedef short pm_element;
#elif defined(PM_DTYPE_u32)
typedef pm_uint pm_element;
#elif defined(PM_DTYPE_i32)
typedef pm_int pm_element;
#elif defined(PM_DTYPE_u64)
typedef pm_ulong pm_element;
#elif defined(PM_DTYPE_i64)
typedef pm_long pm_element;
#elif defined(PM_DTYPE_f32)
typedef float pm_element;
#elif defined(PM_DTYPE_f64)
#ifndef __CUDACC__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef double pm_element;
#else
#error "PM_DTYPE_<dtype> is not defined"
#endif

/* A program without peakmark, which is measured unchanged: the mean of N images of NY x NX floats. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static const char* source =
    "kernel void mean(global const float* stack, global float* image, ulong n, ulong pixels) {"
    "  size_t i = get_global_id(0);"
    "  float sum = 0;"
    "  for (ulong k = 0; k < n; ++k) sum += stack[k * pixels + i];"
    "  image[i] = sum / n;"
    "}";

static void check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "mean: %s: OpenCL error %d\n", call, code);
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: mean N NY NX\n");
    return 2;
  }
  const cl_ulong n = strtoull(argv[1], NULL, 10);
  const cl_ulong pixels = strtoull(argv[2], NULL, 10) * strtoull(argv[3], NULL, 10);
  float* images = malloc(n * pixels * sizeof(float));
  if (images == NULL) return 1;
  for (cl_ulong i = 0; i < n * pixels; ++i) images[i] = (float)(i / pixels);

  cl_platform_id platform;
  cl_device_id device;
  cl_int code = clGetPlatformIDs(1, &platform, NULL);
  check(code, "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
  check(code, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "mean", &code);
  check(code, "clCreateKernel");

  cl_mem stack = clCreateBuffer(context, CL_MEM_READ_ONLY, n * pixels * sizeof(float), NULL, &code);
  check(code, "clCreateBuffer");
  cl_mem image = clCreateBuffer(context, CL_MEM_WRITE_ONLY, pixels * sizeof(float), NULL, &code);
  check(code, "clCreateBuffer");
  check(clEnqueueWriteBuffer(queue, stack, CL_TRUE, 0, n * pixels * sizeof(float), images, 0, NULL, NULL),
        "clEnqueueWriteBuffer");
  check(clSetKernelArg(kernel, 0, sizeof(stack), &stack), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof(image), &image), "clSetKernelArg");
  check(clSetKernelArg(kernel, 2, sizeof(n), &n), "clSetKernelArg");
  check(clSetKernelArg(kernel, 3, sizeof(pixels), &pixels), "clSetKernelArg");
  const size_t items = pixels;
  check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(queue, image, CL_TRUE, 0, pixels * sizeof(float), images, 0, NULL, NULL),
        "clEnqueueReadBuffer");
  printf("%g\n", images[0]);

  clReleaseMemObject(image);
  clReleaseMemObject(stack);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  free(images);
  return 0;
}

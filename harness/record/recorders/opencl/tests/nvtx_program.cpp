// A program with NVTX ranges and without any code for the recorder. It allocates buffers of 100 bytes in
// "setup", which begins before the recorder starts, 1000 in "step", and 10 in each of two ranges "part"
// inside it, one of them in a domain.
#include <CL/cl.h>
#include <nvtx3/nvToolsExt.h>

namespace {

cl_context context = nullptr;

void part(nvtxDomainHandle_t domain) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "part");
  nvtxDomainRangePushEx(domain, &attributes);
  clCreateBuffer(context, CL_MEM_READ_WRITE, 10, nullptr, nullptr);
  nvtxDomainRangePop(domain);
}

}  // namespace

int main() {
  const nvtxRangeId_t setup = nvtxRangeStartA("setup");
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return 1;
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  clCreateBuffer(context, CL_MEM_READ_WRITE, 100, nullptr, nullptr);
  nvtxRangeEnd(setup);
  nvtxRangePushW(L"step");
  const cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 1000, nullptr, nullptr);
  part(nullptr);
  part(nvtxDomainCreateA("library"));
  // LeakSanitizer would find some of them if the recorder did not keep them reachable.
  for (int i = 0; i < 100; ++i) nvtxDomainRegisterStringA(nullptr, "unused");
  clReleaseMemObject(buffer);
  nvtxRangePop();
  return 0;
}

// Tests of memory that is made with cuMemCreate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Line = EventList::Line;

class PhysicalCallsTest : public testing::Test, protected RecordedProgram {
 protected:
  void create(CUmemGenericAllocationHandle one, std::size_t bytes, int device = 0) {
    CUmemAllocationProp properties{};
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    call(recorder_, ID(cuMemCreate), cuMemCreate_params{&one, bytes, &properties, 0});
  }
  void map(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle one) {
    call(recorder_, ID(cuMemMap), cuMemMap_params{address, bytes, 0, one, 0});
  }
  void unmap(CUdeviceptr address, std::size_t bytes, CUresult result = CUDA_SUCCESS) {
    call(recorder_, ID(cuMemUnmap), cuMemUnmap_params{address, bytes}, result);
  }
  void release(CUmemGenericAllocationHandle one, CUresult result = CUDA_SUCCESS) {
    call(recorder_, ID(cuMemRelease), cuMemRelease_params{one}, result);
  }
  const Line created_{EventType::allocation, 5, 2 << 20, MemoryKind::physical};
  const Line released_{EventType::release, 5};
};

TEST_F(PhysicalCallsTest, LivesUntilReleasedAndUnmapped) {
  create(5, 2 << 20);
  map(0x100000, 1 << 20, 5);
  map(0x200000, 1 << 20, 5);
  release(5);
  unmap(0x100000, 1 << 20);
  EXPECT_THAT(events_.lines, ElementsAre(created_));
  unmap(0x200000, 1 << 20);
  EXPECT_THAT(events_.lines, ElementsAre(created_, released_));
}

TEST_F(PhysicalCallsTest, ARetainedHandleIsReleasedTwice) {
  create(5, 2 << 20);
  CUmemGenericAllocationHandle again = 5;
  call(recorder_, ID(cuMemRetainAllocationHandle), cuMemRetainAllocationHandle_params{&again, nullptr});
  release(5);
  EXPECT_THAT(events_.lines, ElementsAre(created_));
  release(5);
  EXPECT_THAT(events_.lines, ElementsAre(created_, released_));
}

TEST_F(PhysicalCallsTest, RefusedCallsAreUndone) {
  create(5, 2 << 20);
  release(5, CUDA_ERROR_INVALID_VALUE);
  map(0x100000, 2 << 20, 5);
  release(5);
  unmap(0x100000, 2 << 20, CUDA_ERROR_INVALID_VALUE);
  Line again = created_;
  again.refused = CUDA_ERROR_INVALID_VALUE;
  EXPECT_THAT(events_.lines, ElementsAre(created_, released_, again, released_, again));
  unmap(0x100000, 2 << 20);
  EXPECT_EQ(events_.lines.back(), released_);
}

TEST_F(PhysicalCallsTest, AnImportedHandleHasNoBytes) {
  map(0x100000, 1 << 20, 77);
  unmap(0x100000, 1 << 20);
  release(77);
  EXPECT_THAT(events_.lines, IsEmpty());
}

TEST_F(PhysicalCallsTest, HostMemoryIsNotInThePeak) {
  CUmemGenericAllocationHandle one = 5;
  CUmemAllocationProp properties{};
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  call(recorder_, ID(cuMemCreate), cuMemCreate_params{&one, 4096, &properties, 0});
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 5, 4096, MemoryKind::host_pinned}));
}

// The driver may give new memory the number of a released handle while the old memory is still mapped.
TEST_F(PhysicalCallsTest, AReusedHandleIsOtherMemory) {
  create(5, 2 << 20);
  map(0x100000, 2 << 20, 5);
  release(5);
  create(5, 1 << 20);
  EXPECT_EQ(events_.sums(), (EventList::Sums{3 << 20, 3 << 20}));
  map(0x800000, 1 << 20, 5);
  unmap(0x100000, 2 << 20);
  EXPECT_EQ(events_.sums().live, 1 << 20);
  release(5);
  EXPECT_EQ(events_.sums().live, 1 << 20);
  unmap(0x800000, 1 << 20);
  EXPECT_EQ(events_.sums(), (EventList::Sums{3 << 20, 0}));
}

TEST_F(PhysicalCallsTest, AHandleOfTheMappedMemoryHoldsIt) {
  create(5, 2 << 20);
  map(0x100000, 2 << 20, 5);
  release(5);
  CUmemGenericAllocationHandle other = 6;
  call(recorder_, ID(cuMemRetainAllocationHandle),
       cuMemRetainAllocationHandle_params{&other, handle<void*>(0x100800)});
  unmap(0x100000, 2 << 20);
  EXPECT_THAT(events_.lines, ElementsAre(created_));
  release(6);
  EXPECT_THAT(events_.lines, ElementsAre(created_, released_));
}

TEST_F(PhysicalCallsTest, TheDeviceIsThatOfTheProperties) {
  create(5, 2 << 20, 3);
  ASSERT_EQ(events_.lines.size(), 1U);
  EXPECT_EQ(events_.lines[0].number, 3);
}

class SparseArrayTest : public PhysicalCallsTest {
 protected:
  void change(CUmemOperationType operation, CUmemGenericAllocationHandle one, unsigned x,
              CUresult result = CUDA_SUCCESS) {
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array_;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info.subresource.sparseLevel.offsetX = x;
    info.memOperationType = operation;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = one;
    call(recorder_, ID(cuMemMapArrayAsync), cuMemMapArrayAsync_params{&info, 1, nullptr}, result);
  }
  void create_array(unsigned flags) {
    CUDA_ARRAY3D_DESCRIPTOR wide{};
    wide.Width = wide.Height = 4096;
    wide.Format = CU_AD_FORMAT_FLOAT;
    wide.NumChannels = 4;
    wide.Flags = flags;
    call(recorder_, ID(cuArray3DCreate_v2), cuArray3DCreate_v2_params{&array_, &wide});
  }
  CUarray array_ = handle<CUarray>(0x10);
};

TEST_F(SparseArrayTest, HoldsNothingItself) {
  create_array(CUDA_ARRAY3D_SPARSE);
  EXPECT_EQ(events_.sums(), (EventList::Sums{0, 0}));
  create_array(CUDA_ARRAY3D_DEFERRED_MAPPING);
  EXPECT_EQ(events_.sums(), (EventList::Sums{0, 0}));
}

TEST_F(SparseArrayTest, MappedMemoryLivesAsLongAsItsRegion) {
  create_array(CUDA_ARRAY3D_SPARSE);
  create(5, 2 << 20);
  change(CU_MEM_OPERATION_TYPE_MAP, 5, 0);
  change(CU_MEM_OPERATION_TYPE_MAP, 5, 64);
  release(5);
  change(CU_MEM_OPERATION_TYPE_UNMAP, 0, 0);
  change(CU_MEM_OPERATION_TYPE_UNMAP, 0, 64, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(events_.sums().live, 2 << 20);
  change(CU_MEM_OPERATION_TYPE_UNMAP, 0, 64);
  EXPECT_EQ(events_.sums().live, 0);
}

TEST_F(SparseArrayTest, MappedMemoryEndsWithTheArray) {
  create_array(CUDA_ARRAY3D_SPARSE);
  create(5, 2 << 20);
  change(CU_MEM_OPERATION_TYPE_MAP, 5, 0);
  release(5);
  EXPECT_EQ(events_.sums().live, 2 << 20);
  call(recorder_, ID(cuArrayDestroy), cuArrayDestroy_params{array_});
  EXPECT_EQ(events_.sums().live, 0);
}

class MulticastTest : public PhysicalCallsTest {
 protected:
  void create_object(CUmemGenericAllocationHandle object) {
    call(recorder_, ID(cuMulticastCreate), cuMulticastCreate_params{&object, nullptr});
  }
  void bind(CUmemGenericAllocationHandle object, std::size_t offset, CUmemGenericAllocationHandle memory) {
    call(recorder_, ID(cuMulticastBindMem), cuMulticastBindMem_params{object, offset, memory, 0, 2 << 20, 0});
  }
  void unbind(CUmemGenericAllocationHandle object, CUdevice device, std::size_t offset) {
    call(recorder_, ID(cuMulticastUnbind), cuMulticastUnbind_params{object, device, offset, 2 << 20});
  }
};

TEST_F(MulticastTest, BoundMemoryLivesUntilItIsUnbound) {
  create_object(77);
  create(5, 2 << 20, 1);
  create(6, 2 << 20, 2);
  bind(77, 0, 5);
  bind(77, 0, 6);
  release(5);
  release(6);
  EXPECT_EQ(events_.sums().live, 4 << 20);
  unbind(77, 1, 0);
  EXPECT_EQ(events_.sums().live, 2 << 20);
  unbind(77, 2, 0);
  release(77);
  EXPECT_EQ(events_.sums(), (EventList::Sums{4 << 20, 0}));
}

// This is declared as in CUDA 13.1, because the headers here are from 13.0.
TEST_F(MulticastTest, ACallOfANewerDriverBindsToo) {
  create_object(77);
  create(5, 2 << 20, 1);
  call(recorder_, kMulticastBindMemV2, MulticastBindV2Parameters{77, 1, 4096, 5, 0});
  release(5);
  EXPECT_EQ(events_.sums().live, 2 << 20);
  unbind(77, 1, 4096);
  EXPECT_EQ(events_.sums().live, 0);
}

TEST_F(MulticastTest, BoundMemoryEndsWithTheObject) {
  create_object(77);
  create(5, 2 << 20);
  map(0x100000, 2 << 20, 5);
  call(recorder_, ID(cuMulticastBindAddr), cuMulticastBindAddr_params{77, 0, 0x100000, 2 << 20, 0});
  release(5);
  unmap(0x100000, 2 << 20);
  EXPECT_EQ(events_.sums().live, 2 << 20);
  release(77);
  EXPECT_EQ(events_.sums().live, 0);
}

}  // namespace
}  // namespace peakmark

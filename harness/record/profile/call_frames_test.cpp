#include "record/profile/call_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/profile/call_frames_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ParseStack, LinesBecomeFrames) {
  const std::string text =
      "P\tFilter.run\t31\t/home/me/filter.py\n"
      "R\tpython: deeper than is recorded\n"
      "N\t_ZN4plan4makeEi\t1f\t/usr/lib/libplan.so\t2a10\n"
      "N\t\t0\t/opt/program\t1234\n"
      "X\tof a later recorder\n"
      "N\tcut";
  const auto symbols = [](const std::string& file, std::uint64_t offset) {
    return file == "/opt/program" && offset == 0x1234 ? "_ZN6anchor3putEv" : "";
  };
  EXPECT_THAT(parse_stack(text, symbols),
              ElementsAre(python("Filter.run", 31), remark("python: deeper than is recorded"),
                          native("plan::make", "/usr/lib/libplan.so", 0x2a10),
                          native("anchor::put", "/opt/program", 0x1234), native("cut", "", 0)));
  EXPECT_THAT(parse_stack("", nullptr), IsEmpty());
}

TEST(CallerFrames, FramesOfRecorderLoaderAndDriverAreSkipped) {
  const CallFrame own = native("upload");
  const CallFrame main = native("main");
  EXPECT_THAT(caller_frames({native("clCreateBuffer", "/wheel.libs/libOpenCL-6a.so.1.0.0"), own, main}),
              ElementsAre(own, main));
  EXPECT_THAT(caller_frames({native("cuMemAlloc_v2", "/usr/lib/libcuda.so.1"),
                             native("cudaMalloc", "/w/libcudart.so.13"), own}),
              ElementsAre(own));
  EXPECT_THAT(caller_frames({native("__interceptor_backtrace", "/usr/lib/libasan.so.8"),
                             native("id_of_caller", "/lib/peakmark/libpeakmark-opencl.so"), own}),
              ElementsAre(own));
  // A callback into the program keeps what is below it.
  const CallFrame driver = native("", "/usr/lib/libpocl.so.2");
  EXPECT_THAT(caller_frames({own, driver, main}), ElementsAre(own, driver, main));
  // Nobody else is there.
  EXPECT_THAT(caller_frames({driver, driver}), ElementsAre(driver, driver));
}

TEST(CallerFrames, PythonTakesTheInterpretersPlace) {
  const std::string interpreter = "/usr/bin/python3.11";
  const CallFrame ffi = native("ffi_call", "/usr/lib/libffi.so.8");
  EXPECT_THAT(
      caller_frames({python("inner", 3), python("<module>", 9), native("clCreateBuffer", "libOpenCL.so.1"),
                     ffi, native("_PyObject_Call", interpreter),
                     native("_PyEval_EvalFrameDefault", interpreter), native("main", interpreter)}),
      ElementsAre(ffi, python("inner", 3), python("<module>", 9)));
  // Without the lock the interpreter is all there is to show.
  EXPECT_THAT(
      caller_frames({remark("python: not held"), ffi, native("_PyEval_EvalFrameDefault", interpreter)}),
      ElementsAre(ffi, native("_PyEval_EvalFrameDefault", interpreter), remark("python: not held")));
}

/// Debian's Python 3.14 in a virtual environment, whose program has another name.
TEST(CallerFrames, PythonTakesThePlaceOfAnInterpreterThatHidesItsLoop) {
  const std::string interpreter = "/opt/venv/bin/python";
  const CallFrame ffi = native("ffi_call", "/usr/lib/libffi.so.8");
  const CallFrame module = native("PyInit_filters", "/opt/filters.so");
  EXPECT_THAT(
      caller_frames({python("inner", 3), python("<module>", 9), ffi, module,
                     native("", interpreter, 0x17313a), native("PyEval_EvalCode", interpreter),
                     native("", interpreter, 0x343493), native("Py_BytesMain", interpreter),
                     native("__libc_start_main", "/usr/lib/libc.so.6"), native("_start", interpreter)}),
      ElementsAre(ffi, module, python("inner", 3), python("<module>", 9)));
}

TEST(CallerFrames, AsText) {
  EXPECT_EQ(text_of(native("put", "/opt/program")), "put (program)");
  EXPECT_EQ(text_of(native("", "/opt/program", 0x1f)), "program+0x1f");
  EXPECT_EQ(text_of(native("", "", 0x1f)), "0x1f");
  EXPECT_EQ(text_of(python("inner", 3)), "inner filter.py:3");
  EXPECT_EQ(
      text_of({CallFrame::Kind::python, "zeros", "/v/lib/python3.11/site-packages/pyopencl/array.py", 7}),
      "zeros pyopencl/array.py:7");
  EXPECT_EQ(text_of(remark("python: not held")), "[python: not held]");
}

TEST(CallerFrames, HeadersOfTheDriverAreSkipped) {
  const CallFrame own = native("Trees::grow");
  EXPECT_THAT(caller_frames({native("clCreateBuffer", "/lib/libOpenCL.so.1"), native("cl::Buffer::Buffer"),
                             native("boost::compute::buffer::buffer"), native("std::vector::emplace_back"),
                             own, native("std::invoke"), native("main")}),
              ElementsAre(own, native("std::invoke"), native("main")));
}

TEST(NativeFrames, OfPythonAreFunctionsThatAUserRecognises) {
  const std::vector<CallFrame> chain{native("Trees::grow"),
                                     native("", "/w/lib_trees.so"),
                                     native("Booster"),
                                     native("pybind11::cpp_function::dispatcher"),
                                     native("ffi_call", "/usr/lib/libffi.so.8"),
                                     native("", "/usr/lib/_ctypes.cpython-311.so"),
                                     python("train", 7)};
  EXPECT_THAT(native_frames(chain), ElementsAre(native("Trees::grow"), native("Booster")));
  const std::vector<CallFrame> without{native("", "/w/lib_trees.so"), native("main")};
  EXPECT_EQ(native_frames(without), without);
}

TEST(PackageOf, IsEmptyForTheUsersOwnCode) {
  const auto of_file = [](const std::string& file, const std::string& function = "f") {
    return package_of({CallFrame::Kind::python, function, file, 1});
  };
  EXPECT_EQ(of_file("/home/me/run.py"), "");
  EXPECT_EQ(of_file("/home/me/src/mypackage/filters.py"), "") << "an editable installation";
  EXPECT_EQ(of_file("/home/me/lib/python3-tools/run.py"), "");
  EXPECT_EQ(of_file("<stdin>"), "");
  EXPECT_EQ(of_file("<ipython-input-3-0a1b2c>"), "");
  EXPECT_EQ(of_file("/tmp/ipykernel_77/123456.py"), "") << "a cell of a notebook";
  EXPECT_EQ(of_file("<string>", "<module>"), "") << "python -c";
  EXPECT_EQ(of_file("/home/me/bin/reconstruct", "main"), "");
  EXPECT_EQ(of_file("/venv/lib/python3.11/site-packages/pyopencl/array.py"), "pyopencl");
  EXPECT_EQ(of_file("/venv/lib/python3.11/site-packages/six.py"), "site-packages");
  EXPECT_EQ(of_file("/usr/lib/python3/dist-packages/httomo/cli.py"), "httomo");
  EXPECT_EQ(of_file("/usr/lib/python3.11/threading.py"), "python3.11");
  EXPECT_EQ(of_file("/opt/conda/lib/python3.13t/threading.py"), "python3.13t");
  EXPECT_EQ(of_file("<frozen runpy>"), "<frozen");
  EXPECT_EQ(of_file("<string>"), "generated") << "as tinygrad and dataclasses do";
  EXPECT_EQ(of_file("/venv/bin/httomo", "<module>"), "bin");
  EXPECT_EQ(of_file("/opt/share/peakmark/python/peakmark/pytest_plugin/hooks.py"), "peakmark");

  EXPECT_EQ(package_of(native("run")), "");
  EXPECT_EQ(package_of(native("run", "/usr/bin/tool")), "");
  EXPECT_EQ(package_of(native("grow", "/home/me/build/libtrees.so")), "");
  EXPECT_EQ(package_of(native("", "/home/me/build/libtrees.so")), "libtrees.so") << "no name, no help";
  EXPECT_EQ(package_of(native("fftwf_execute", "/usr/lib/x86_64-linux-gnu/libfftw3f.so.3")),
            "libfftw3f.so.3");
  EXPECT_EQ(package_of(native("cufftPlan", "/usr/local/cuda/lib64/libcufft.so.11")), "libcufft.so.11");
  EXPECT_EQ(package_of(native("make", "/v/lib/python3.11/site-packages/pyopencl/_cl.so")), "_cl.so");
  EXPECT_EQ(package_of(native("_PyEval_EvalFrameDefault", "/usr/bin/python3.11")), "python3.11");
  EXPECT_EQ(package_of(remark("python: not held")), "");
}

TEST(CallChain, OfNativeFramesBeginsAtTheCallerOfTheDriver) {
  EXPECT_EQ(call_chain("N\tclCreateBuffer\t0\t/lib/libOpenCL.so.1\t10\n"
                       "N\t_ZN4plan4makeEi\t1f\t/home/me/libplan.so\t2a10\n"
                       "N\tmain\t1f\t/home/me/program\t10\n",
                       nullptr),
            "plan::make < main");
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "P\tf\t" + std::to_string(i) + "\t/a/b.py\n";
  EXPECT_EQ(call_chain(deep, nullptr),
            "b.py:0 < b.py:1 < b.py:2 < b.py:3 < b.py:4 < b.py:5 < b.py:6 < b.py:7");
  EXPECT_EQ(call_chain("", nullptr), "");
  EXPECT_EQ(call_chain("N\t\t0\t/opt/program\t1234\n", nullptr), "program+0x1234");
  EXPECT_EQ(
      call_chain("N\tfftwf_plan\t0\t/usr/lib/libfftw3f.so.3\t12\nN\tmain\t0\t/opt/program\t1\n", nullptr),
      "fftwf_plan (libfftw3f.so.3) < main");
  // As the demangler of GCC 12 writes them.
  const auto short_name = [](const std::string& function) {
    return call_chain("N\t" + function + "\t0\t/opt/program\t1234\n", nullptr);
  };
  EXPECT_EQ(short_name("peakmark::(anonymous namespace)::OpenClDevice::allocate(long)"),
            "peakmark::OpenClDevice::allocate");
  EXPECT_EQ(short_name("void detail::guard<Held::step(void*, int)::{lambda()#1}>(Failure*, Held&&)"),
            "detail::guard");
  EXPECT_EQ(
      short_name("Shift::operator()(Array&, std::span<float const, 18446744073709551615ul>)::{lambda(long, "
                 "std::span<Term const>)#1}::operator()(long, std::span<Term const>) const [clone "
                 ".constprop.0]"),
      "Shift::operator()::{lambda#1}::operator()");
  EXPECT_EQ(
      short_name("std::_Function_handler<void (), Trial::pass(bool)::{lambda()#1}>::_M_invoke(std::_Any_data "
                 "const&)"),
      "std::_Function_handler::_M_invoke");
  EXPECT_EQ(
      short_name("auto call<Held::step(int)::{lambda(Failure*)#1}>(Held::step(int)::{lambda(Failure*)#1}&&) "
                 "[clone .isra.0]"),
      "call");
}

TEST(CallChain, OfPythonHasTheLibrarysFunctionsAndTheUsersLine) {
  std::string stack =
      "N\tclCreateBuffer\t0\t/lib/libOpenCL.so.1\t10\n"
      "N\t_ZN5boost7compute6buffer4makeEv\t0\t/w/lib_trees.so\t20\n"
      "N\t_ZN5Trees4growEv\t0\t/w/lib_trees.so\t30\n"
      "N\t\t0\t/w/lib_trees.so\t40\n"
      "N\tBooster\t0\t/w/lib_trees.so\t50\n"
      "N\tffi_call\t0\t/lib/libffi.so.8\t60\n"
      "N\t_PyEval_EvalFrameDefault\t0\t/usr/bin/python3\t70\n";
  EXPECT_EQ(call_chain(stack + "P\ttrain\t7\t/home/me/train.py\n", nullptr),
            "Trees::grow < Booster < train.py:7");
  for (int i = 0; i < 9; ++i) stack += "P\tf\t" + std::to_string(i) + "\t/v/site-packages/lib.py\n";
  std::string lines;
  for (int i = 0; i < 8; ++i) lines += " < site-packages/lib.py:" + std::to_string(i);
  EXPECT_EQ(call_chain(stack + "P\tmain\t3\t/home/me/main.py\nP\t<module>\t9\t/home/me/main.py\n", nullptr),
            "Trees::grow < Booster" + lines + " < main.py:3 < main.py:9")
      << "the user's lines differ, where those of the library are the same";
}

TEST(ReadableFunction, HasNoTypesOfArguments) {
  EXPECT_EQ(readable_function("main"), "main");
  EXPECT_EQ(readable_function("_ZN4plan6FilterIfE4makeEi"), "plan::Filter::make");
  // Made by c++filt of GCC 12.
  EXPECT_EQ(readable_function("_ZNKSt8functionIFvvEEclEv"), "std::function::operator()");
  EXPECT_EQ(readable_function("_Znwm"), "operator new");
  EXPECT_EQ(readable_function("_ZdaPv"), "operator delete[]");
  EXPECT_EQ(readable_function("_ZNK5ImageptEv"), "Image::operator->");
  EXPECT_EQ(readable_function("_ZlsRSoRK5Image"), "operator<<");
  EXPECT_EQ(readable_function("_ZlsIiERSoS0_RKT_"), "operator<<");
  EXPECT_EQ(readable_function("_ZNK5ImagecvPfEv"), "Image::operator float*");
  EXPECT_EQ(readable_function("_ZNR5Image3getEv"), "Image::get");
  EXPECT_EQ(readable_function("_ZNK5Image3getEv.cold"), "Image::get");
  EXPECT_EQ(readable_function("_Z4makeIiEDTcvT_Li0EES0_"), "make");
  EXPECT_EQ(readable_function("_Z5namesIcEPKT_v"), "names");
  EXPECT_EQ(readable_function("operatorial::f(int)"), "operatorial::f");
  EXPECT_EQ(readable_function(""), "");
  EXPECT_EQ(readable_function("((("), "(((");
  EXPECT_EQ(readable_function(")>]"), ")>]");
}

TEST(ReadableFunction, IsNotLong) {
  const std::string name = readable_function(std::string(200, 'a') + "::" + std::string(200, 'b') + "(int)");
  EXPECT_LT(name.size(), 90U);
  EXPECT_TRUE(name.starts_with("aaaa")) << name;
  EXPECT_TRUE(name.ends_with("bbbb")) << name;
}

}  // namespace
}  // namespace peakmark

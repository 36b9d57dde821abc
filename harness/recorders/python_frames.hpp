#pragma once

#include <cstddef>

namespace peakmark {

/// Writes the Python frames of the calling thread into `text`, innermost first, as lines of a stack's text
/// (see docs/formats.md); gives the bytes written. Nothing where there is no interpreter in this process, or
/// this thread runs no Python.
///
/// Where the thread holds the interpreter's lock, its public C interface is asked, looked up in the process
/// by name, so one recorder serves every Python from 3.9 on. The interpreter stays as it was: a pending error
/// stays, an error of our own is swallowed, no garbage is collected meanwhile. Where it has given the lock
/// away the frames are read from memory (PythonMemory), and where that cannot be, the one line is a remark
/// that says so.
std::size_t python_frames(char* text, std::size_t room);

/// Looks for an interpreter, where none was found before. Not done in `python_frames`, since it is slow in a
/// program that has none.
void look_for_python();

}  // namespace peakmark

// The line of the user's own code that runs now. Whose code a frame runs is asked of Python once per function.

#pragma once

#include <c10/util/python_stub.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "texts.h"

// The few functions of Python that are needed, so that its headers need not be installed.
extern "C" {
int PyGILState_Ensure();
void PyGILState_Release(int);
PyObject* PyEval_GetFrame();
PyObject* PyFrame_GetBack(PyObject*);
PyObject* PyFrame_GetCode(PyObject*);
int PyFrame_GetLineNumber(PyObject*);
PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
const char* PyUnicode_AsUTF8(PyObject*);
void PyErr_Clear();
void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
}

namespace jumar {

// Python's own lock, which guards everything here too: operators come from several threads.
class Lock {
 public:
  Lock() : state_(PyGILState_Ensure()) {}
  ~Lock() { PyGILState_Release(state_); }
  Lock(const Lock&) = delete;

 private:
  int state_;
};

class Lines {
 public:
  Lines(Texts& texts, PyObject* file_of) : texts_(texts), file_of_(file_of) { Py_IncRef(file_of); }
  ~Lines() {
    for (const auto& [code, file] : files_) Py_DecRef(code);
    Py_DecRef(file_of_);
  }

  int here() {
    PyObject* frame = PyEval_GetFrame();
    if (frame) Py_IncRef(frame);
    int found = 0;
    while (frame && !found) {
      PyObject* const code = PyFrame_GetCode(frame);
      const auto known = files_.find(code);
      const int file = known == files_.end() ? learn(code) : known->second;
      if (file) found = line(file, PyFrame_GetLineNumber(frame));
      Py_DecRef(code);
      PyObject* const caller = found ? nullptr : PyFrame_GetBack(frame);
      Py_DecRef(frame);
      frame = caller;
    }
    return found;
  }

 private:
  int learn(PyObject* code) {
    PyObject* const told = PyObject_CallFunctionObjArgs(file_of_, code, nullptr);
    const char* const name = told ? PyUnicode_AsUTF8(told) : nullptr;
    const int file = texts_.id(name ? name : "");
    if (told) Py_DecRef(told);
    if (!name) PyErr_Clear();
    Py_IncRef(code);
    return files_[code] = file;
  }

  int line(int file, int number) {
    int& id = lines_[static_cast<std::uint64_t>(file) << 32 | static_cast<std::uint32_t>(number)];
    if (!id) id = texts_.id(texts_.plain(file) + ":" + std::to_string(number));
    return id;
  }

  Texts& texts_;
  PyObject* file_of_;
  std::unordered_map<PyObject*, int> files_;
  std::unordered_map<std::uint64_t, int> lines_;
};

}  // namespace jumar

// Programs: what a primitive makes and launches on a GPU for arguments of certain layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "gpu_array.h"
#include "owned.h"

namespace nnkit {

// A place in the arguments of launches that gets an address.
struct Address {
    std::size_t at;
    int source;  // an array of the arguments; from -1 down, one that the program makes
    std::int64_t offset;
};

// One that gets a number among the arguments of the call.
struct Number {
    std::size_t at;
    Py_ssize_t position;
    bool is_whole;
};

struct Launch {
    void* function;
    unsigned shape[6], shared;
    std::vector<std::size_t> starts;  // of its parameters
};

struct Matrix {
    std::size_t at;  // where its address stands
    int kind, step;
    long long stride;
};

struct Product {
    void* function;
    bool many;
    int shape[5];  // whether transposed; m, n, k
    char factors[32];
    std::size_t second;  // where the second factor begins
    Matrix left, right, out;
    int batch, compute, algorithm;

    int run(void* handle, char* values) const;  // cuBLAS' status
};

// The step that failed, if its status is not 0.
struct Failure {
    std::size_t step = 0;
    int status = 0;
    bool is_product = false;
};

struct Made {
    std::size_t bytes;
    Owned prototype;  // None for memory that is no result
};

class Program {
public:
    // Reads what planning.py writes; null with an error set.
    static std::shared_ptr<Program> read(PyObject* description, PyObject* arguments);

    PyObject* run(int device, PyObject* const* values, const std::vector<PyObject*>& arrays) const;

private:
    bool read_launch(PyObject* step);
    bool read_product(PyObject* step);
    bool read_made(PyObject* items);
    bool read_results(PyObject* items);
    bool fill(char* room, PyObject* const* values, const std::vector<PyObject*>& arrays,
              const std::vector<Owned>& made) const;
    void launch(char* room, std::intptr_t stream, void* handle, Failure& failure) const;

    std::vector<Made> made_;
    std::string bytes_;  // of all parameters
    std::vector<Address> addresses_;
    std::vector<Number> numbers_;
    std::vector<std::variant<Launch, Product>> steps_;
    bool multiplies_ = false;
    bool several_ = false;
    std::vector<int> results_;  // as the sources of addresses; `nothing` for None
    Owned arguments_;           // of which some are known by their address

    static constexpr int nothing = 1 << 30;
};

// What the module offers: connect_launches(address of cuLaunchKernel, failed, prepare, handle), see
// backend/cuda/compiled; and forget_handle(), when cuBLAS' handle was set to something else.
PyObject* connect_launches(PyObject* module, PyObject* args);
PyObject* forget_handle(PyObject* module, PyObject* unused);

}  // namespace nnkit

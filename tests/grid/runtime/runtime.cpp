// The runtime as one file for the compiler.
#include "fiber.cpp"
#include "memory.cpp"
#include "copies.cpp"
#include "warp.cpp"
#include "hooks.cpp"

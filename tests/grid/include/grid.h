// Included before every kernel: CUDA C++ for the system's C++ compiler.
#pragma once
#include "grid/words.h"
#include "grid/warp.h"
#include "grid/atomics.h"
#include "grid/math.h"
#include "grid/kernel.h"

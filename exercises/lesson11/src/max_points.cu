#ifndef INFINITY // NVRTC compiles without a C library.
#define INFINITY __int_as_float(0x7f800000)
#endif

/// Writes the maximum of each channel over each cloud's points to y, and its row in x, the first of several, to at. NaN
/// counts as the greatest value. x is `[points of all clouds, n]`. Cloud c has the rows `starts[c]..starts[c + 1]`, at
/// least one. y and at are `[clouds, n]`.
///
/// Launch: blocks of 32 channels × 8 threads that share the points; grid `(⌈n/32⌉, clouds)`.
extern "C" __global__ void max_points(const float* x, const int* starts, float* y, int* at, int n) {
    // TODO 11.4: every eighth point a thread, then the best of the eight
}

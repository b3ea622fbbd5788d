// A kernel's entry in the table that the Rust library reads: how to call it with CUDA's `void** arguments`, and its
// parameters. `src/source.rs` appends a line for each kernel.
#pragma once
#include "abi.h"

struct __nv_bfloat16;
struct __half;

namespace grid {

template <class T> struct Kind { static constexpr unsigned char value = 0; };
#define GRID_KIND(TYPE, NUMBER)                                                                                        \
    template <> struct Kind<TYPE> { static constexpr unsigned char value = NUMBER; };
GRID_KIND(float, 1)
GRID_KIND(double, 2)
GRID_KIND(signed char, 3)
GRID_KIND(short, 3)
GRID_KIND(int, 3)
GRID_KIND(long, 3)
GRID_KIND(long long, 3)
GRID_KIND(unsigned char, 3)
GRID_KIND(unsigned short, 3)
GRID_KIND(unsigned, 3)
GRID_KIND(unsigned long, 3)
GRID_KIND(unsigned long long, 3)
GRID_KIND(__nv_bfloat16, 4)
GRID_KIND(__half, 5)
GRID_KIND(bool, 6)
GRID_KIND(void, 7)
GRID_KIND(char, 7)
#undef GRID_KIND

template <class T> struct Size { static constexpr unsigned value = sizeof(T); };
template <> struct Size<void> { static constexpr unsigned value = 0; };
template <class T> struct Plain { using type = T; };
template <class T> struct Plain<volatile T> { using type = T; };
template <class T> constexpr Parameter pointee(unsigned char constant) {
    return {1, constant, Kind<typename Plain<T>::type>::value, Size<T>::value};
}

template <class T> struct Describe {
    static constexpr Parameter value() { return {0, 0, Kind<T>::value, sizeof(T)}; }
};
template <class T> struct Describe<T*> {
    static constexpr Parameter value() { return pointee<T>(0); }
};
template <class T> struct Describe<const T*> {
    static constexpr Parameter value() { return pointee<T>(1); }
};
template <class T> struct Describe<T* __restrict__> : Describe<T*> {};
template <class T> struct Describe<const T> : Describe<T> {};

template <unsigned... I> struct Indices {};
template <unsigned N, unsigned... I> struct Count : Count<N - 1, N - 1, I...> {};
template <unsigned... I> struct Count<0, I...> { using type = Indices<I...>; };

template <auto F> struct Bind;
template <class... A, void (*F)(A...)> struct Bind<F> {
    template <unsigned... I>
    __attribute__((no_sanitize("thread"), no_sanitize("undefined"))) static void with(void** a, Indices<I...>) {
        F(*(typename Plain<A>::type*)a[I]...);
    }
    __attribute__((no_sanitize("thread"), no_sanitize("undefined"))) static void call(void** arguments) {
        with(arguments, typename Count<sizeof...(A)>::type());
    }
    static constexpr Kernel kernel(unsigned max_threads) {
        return {&call, sizeof...(A), max_threads, {Describe<A>::value()...}};
    }
};

} // namespace grid

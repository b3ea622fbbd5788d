// Philox4x32-10 (Salmon et al. 2011), the generator of canopy-data's `Philox`: equal keys, streams and counters give equal
// bits on CPU and GPU.
#pragma once

struct Four {
    unsigned v[4];
};

__device__ inline Four philox(unsigned long long key, unsigned long long stream, unsigned long long counter) {
    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
    Four c = {{(unsigned)counter, (unsigned)(counter >> 32), (unsigned)stream, (unsigned)(stream >> 32)}};
    for (int round = 0; round < 10; ++round) {
        unsigned long long a = 0xD2511F53ull * c.v[0], b = 0xCD9E8D57ull * c.v[2];
        c = {{(unsigned)(b >> 32) ^ c.v[1] ^ k0, (unsigned)b, (unsigned)(a >> 32) ^ c.v[3] ^ k1, (unsigned)a}};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

/* UCB1 on Bernoulli arms in plain C: the limit that the engine is measured against.
 *
 *     ucb1 HORIZON RUNS SEED   prints the CPU nanoseconds per step and the mean pseudo-regret
 *
 * The mean and 1/sqrt(n) of an arm are kept, and only those of the arm that was pulled are computed anew; it looks at
 * all arms in every pull. Random numbers are xoshiro256+. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef K
#define K 10
#endif

static uint64_t state[4];

static uint64_t split(uint64_t *x) {
  uint64_t z = (*x += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double uniform(void) {
  uint64_t result = state[0] + state[3], shifted = state[1] << 17;
  state[2] ^= state[0], state[3] ^= state[1], state[1] ^= state[2], state[0] ^= state[3];
  state[2] ^= shifted, state[3] = (state[3] << 45) | (state[3] >> 19);
  return (double)(result >> 11) * 0x1p-53;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  long horizon = atol(argv[1]), runs = atol(argv[2]);
  uint64_t seed = (uint64_t)atol(argv[3]);
  double arms[K], sum = 0;
  for (int a = 0; a < K; a++) arms[a] = 0.1 + 0.8 * a / (K - 1);
  for (int i = 0; i < 4; i++) state[i] = split(&seed);
  clock_t start = clock();
  for (long run = 0; run < runs; run++) {
    double total[K] = {0}, n[K] = {0}, mean[K] = {0}, width[K] = {0}, regret = 0;
    for (long t = 1; t <= horizon; t++) {
      int best = 0;
      if (t <= K) {
        best = (int)t - 1;
      } else {
        double spread = sqrt(2 * log((double)t)), top = -1;
        for (int a = 0; a < K; a++) {
          double index = mean[a] + spread * width[a];
          if (index > top) top = index, best = a;
        }
      }
      total[best] += uniform() < arms[best];
      n[best] += 1;
      mean[best] = total[best] / n[best];
      width[best] = 1 / sqrt(n[best]);
      regret += arms[K - 1] - arms[best];
    }
    sum += regret;
  }
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  printf("%.2f %.1f\n", 1e9 * seconds / ((double)horizon * (double)runs), sum / (double)runs);
  return 0;
}

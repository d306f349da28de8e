/* One attention head in plain C99, without a library.
 *
 * A matrix is one block of memory, row after row: element (i, j) of a (rows, columns) matrix is
 * m[i * columns + j]. Weights are (in, out), so that a projection is x @ weight; a nn.Linear keeps
 * the transposed matrix. Compile with -DREAL=double for the same head in double precision.
 */
#ifndef HEAD_H
#define HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef REAL
#define REAL float
#endif
typedef REAL real;

struct head {
    size_t n_embd;    /* features of a token going in */
    size_t head_size; /* features of a query, key or value: H */
    real *query;      /* (n_embd, H) */
    real *key;        /* (n_embd, H) */
    real *value;      /* (n_embd, H) */
};

/* Ask for memory and fill the weights; false when there is none. head_free gives it back. */
bool head_init(struct head *head, size_t n_embd, size_t head_size, uint64_t seed);
void head_free(struct head *head);

/* x (batch, S, n_embd) -> output (batch, S, H), and weights (batch, S, S) unless it is NULL.
 * The caller owns all three; false when there is no memory for what lies between. */
bool head_forward(const struct head *head, size_t batch, size_t S, bool causal, const real *x,
                  real *output, real *weights);

/* Uniform within +-sqrt(6 / (in + out)), the same numbers on every machine: weight (in, out). */
void xavier_init(real *weight, size_t in, size_t out, uint64_t seed);

/* The stages, one sequence at a time. */
void project(const real *x, const real *weight, size_t S, size_t in, size_t out, real *projected);
void attention_scores(const real *q, const real *k, size_t S, size_t H, real *scores);
void scale_scores(real *scores, size_t S, size_t H);
void mask_future(real *scores, size_t S);
void attention_weights(real *scores, size_t S);
void weighted_sum(const real *weights, const real *v, size_t S, size_t H, real *output);

#endif

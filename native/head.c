#include "head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums run in double, so that a long row loses no more than PyTorch's own blocked sums do. */

/* x (S, in), weight (in, out) -> projected (S, out): one dot product for each number. */
void project(const real *x, const real *weight, size_t S, size_t in, size_t out, real *projected) {
    for (size_t i = 0; i < S; i++) {
        for (size_t h = 0; h < out; h++) {
            double sum = 0;
            for (size_t e = 0; e < in; e++) {
                sum += (double)x[i * in + e] * weight[e * out + h];
            }
            projected[i * out + h] = (real)sum;
        }
    }
}

/* q, k (S, H) -> scores (S, S). No transpose: row j of k is column j of its transpose. */
void attention_scores(const real *q, const real *k, size_t S, size_t H, real *scores) {
    for (size_t i = 0; i < S; i++) {
        for (size_t j = 0; j < S; j++) {
            double sum = 0;
            for (size_t d = 0; d < H; d++) {
                sum += (double)q[i * H + d] * k[j * H + d];
            }
            scores[i * S + j] = (real)sum;
        }
    }
}

/* scores (S, S), in place. */
void scale_scores(real *scores, size_t S, size_t H) {
    const double root = sqrt((double)H);
    for (size_t n = 0; n < S * S; n++) {
        scores[n] = (real)(scores[n] / root);
    }
}

/* scores (S, S), in place: token i may not see the tokens after it. */
void mask_future(real *scores, size_t S) {
    for (size_t i = 0; i < S; i++) {
        for (size_t j = i + 1; j < S; j++) {
            scores[i * S + j] = -(real)INFINITY;
        }
    }
}

/* scores (S, S) -> weights, in place: each row shifted by its largest, exponentiated, divided. */
void attention_weights(real *scores, size_t S) {
    for (size_t i = 0; i < S; i++) {
        real *row = scores + i * S;
        real largest = row[0];
        for (size_t j = 1; j < S; j++) {
            largest = row[j] > largest ? row[j] : largest;
        }
        double sum = 0;
        for (size_t j = 0; j < S; j++) {
            const double weight = exp((double)row[j] - (double)largest);
            row[j] = (real)weight;
            sum += weight;
        }
        for (size_t j = 0; j < S; j++) {
            row[j] = (real)(row[j] / sum);
        }
    }
}

/* weights (S, S), v (S, H) -> output (S, H). */
void weighted_sum(const real *weights, const real *v, size_t S, size_t H, real *output) {
    for (size_t i = 0; i < S; i++) {
        for (size_t d = 0; d < H; d++) {
            double sum = 0;
            for (size_t j = 0; j < S; j++) {
                sum += (double)weights[i * S + j] * v[j * H + d];
            }
            output[i * H + d] = (real)sum;
        }
    }
}

/* A block for (rows, columns), or NULL: calloc sees an overflow of its own product, not of ours. */
static real *matrix(size_t rows, size_t columns) {
    if (columns != 0 && rows > SIZE_MAX / columns) {
        return NULL;
    }
    const size_t count = rows * columns;
    return calloc(count != 0 ? count : 1, sizeof(real));
}

bool head_init(struct head *head, size_t n_embd, size_t head_size, uint64_t seed) {
    head->n_embd = n_embd;
    head->head_size = head_size;
    head->query = matrix(n_embd, head_size);
    head->key = matrix(n_embd, head_size);
    head->value = matrix(n_embd, head_size);
    if (head->query == NULL || head->key == NULL || head->value == NULL) {
        head_free(head);
        return false;
    }
    xavier_init(head->query, n_embd, head_size, seed);
    xavier_init(head->key, n_embd, head_size, seed + 1);
    xavier_init(head->value, n_embd, head_size, seed + 2);
    return true;
}

void head_free(struct head *head) {
    free(head->query);
    free(head->key);
    free(head->value);
    head->query = head->key = head->value = NULL;
}

/* One sequence: every step of the book, in the memory that the caller has set aside for it. */
static void attend(const struct head *head, size_t S, bool causal, const real *x, real *q, real *k,
                   real *v, real *weights, real *output) {
    const size_t n_embd = head->n_embd, H = head->head_size;
    project(x, head->query, S, n_embd, H, q);   /* (S, H) */
    project(x, head->key, S, n_embd, H, k);     /* (S, H) */
    project(x, head->value, S, n_embd, H, v);   /* (S, H) */
    attention_scores(q, k, S, H, weights);      /* (S, S) */
    scale_scores(weights, S, H);                /* (S, S) */
    if (causal) {
        mask_future(weights, S);                /* (S, S) */
    }
    attention_weights(weights, S);              /* (S, S), rows sum to 1 */
    weighted_sum(weights, v, S, H, output);     /* (S, H) */
}

bool head_forward(const struct head *head, size_t batch, size_t S, bool causal, const real *x,
                  real *output, real *weights) {
    const size_t H = head->head_size;
    real *q = matrix(S, H), *k = matrix(S, H), *v = matrix(S, H), *own = matrix(S, S);
    const bool enough = q != NULL && k != NULL && v != NULL && own != NULL;
    for (size_t b = 0; enough && b < batch; b++) { /* sequences never meet */
        attend(head, S, causal, x + b * S * head->n_embd, q, k, v, own, output + b * S * H);
        if (weights != NULL && S != 0) {
            memcpy(weights + b * S * S, own, S * S * sizeof(real));
        }
    }
    free(q);
    free(k);
    free(v);
    free(own);
    return enough;
}

/* splitmix64: a step of a counter, its bits mixed; 53 of them make a number in [0, 1). */
static double uniform(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

void xavier_init(real *weight, size_t in, size_t out, uint64_t seed) {
    const double bound = sqrt(6.0 / (double)(in + out));
    uint64_t state = seed * UINT64_C(0xd1342543de82ef95); /* seeds apart, so that streams are */
    for (size_t n = 0; n < in * out; n++) {
        weight[n] = (real)(bound * (2 * uniform(&state) - 1));
    }
}

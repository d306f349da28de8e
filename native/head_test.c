/* The six tests of a head, for the head in C. Each returns what went wrong, or NULL. */
#include "head.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, N_EMBD = 24, H = 6 };
static const size_t LENGTHS[] = {1, 5, 6, 24}; /* alone, odd, as large as H, as large as n_embd */
enum { COUNT = sizeof LENGTHS / sizeof LENGTHS[0], LONGEST = 24 };
#define GUARD ((real)12345)
#define CLOSE (sizeof(real) == sizeof(float) ? 1e-5 : 1e-12)

static real x[BATCH * LONGEST * N_EMBD], output[BATCH * LONGEST * LONGEST + 1];
static real weights[BATCH * LONGEST * LONGEST + 1];

static bool near(double one, double other) { return fabs(one - other) <= CLOSE; }

/* A head with these weights, or the end of the program: a test without memory tests nothing. */
static struct head made(size_t n_embd, size_t head_size) {
    struct head head;
    if (!head_init(&head, n_embd, head_size, 7)) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return head;
}

/* Every number outside of the results keeps its value, every number of them gets one. */
static const char *run(const struct head *head, size_t S, bool causal) {
    const size_t numbers = BATCH * S * head->head_size, cells = BATCH * S * S;
    for (size_t n = 0; n <= numbers; n++) {
        output[n] = n < numbers ? (real)NAN : GUARD;
    }
    for (size_t n = 0; n <= cells; n++) {
        weights[n] = n < cells ? (real)NAN : GUARD;
    }
    if (!head_forward(head, BATCH, S, causal, x, output, weights)) {
        return "no memory";
    }
    for (size_t n = 0; n < numbers; n++) {
        if (!isfinite(output[n])) {
            return "a number of the output was not written";
        }
    }
    for (size_t n = 0; n < cells; n++) {
        if (!isfinite(weights[n])) {
            return "a weight was not written";
        }
    }
    return NULL;
}

static const char *shape(void) {
    struct head head = made(N_EMBD, H);
    const char *wrong = NULL;
    for (int n = 0; n < COUNT && wrong == NULL; n++) {
        wrong = run(&head, LENGTHS[n], true);
        if (wrong == NULL && output[BATCH * LENGTHS[n] * H] != GUARD) {
            wrong = "the output is longer than (batch, S, H)";
        }
    }
    head_free(&head);
    return wrong;
}

static const char *score_shape(void) {
    struct head head = made(N_EMBD, H);
    const char *wrong = NULL;
    for (int n = 0; n < COUNT && wrong == NULL; n++) {
        wrong = run(&head, LENGTHS[n], false);
        if (wrong == NULL && weights[BATCH * LENGTHS[n] * LENGTHS[n]] != GUARD) {
            wrong = "the weights are more than (batch, S, S)";
        }
    }
    head_free(&head);
    return wrong;
}

static const char *rows_sum_to_one(void) {
    struct head head = made(N_EMBD, H);
    const size_t S = 5;
    const char *wrong = NULL;
    for (int causal = 0; causal < 2 && wrong == NULL; causal++) {
        wrong = run(&head, S, causal);
        for (size_t row = 0; row < BATCH * S && wrong == NULL; row++) {
            double sum = 0;
            for (size_t j = 0; j < S; j++) {
                const real weight = weights[row * S + j];
                sum += weight;
                if (weight < 0 || (causal && j > row % S && weight != 0)) {
                    wrong = "a weight is negative, or looks at the future";
                }
            }
            if (!near(sum, 1)) {
                wrong = "a row of weights does not sum to 1";
            }
        }
    }
    head_free(&head);
    return wrong;
}

/* weight (size, size) = factor on the diagonal. */
static void diagonal(real *weight, size_t size, real factor) {
    for (size_t n = 0; n < size * size; n++) {
        weight[n] = n / size == n % size ? factor : 0;
    }
}

static const char *analytical_scaling(void) {
    enum { SIZE = 16 }; /* sqrt(16) = 4 */
    struct head head = made(SIZE, SIZE);
    real two[2 * SIZE] = {0}, mixed[2 * SIZE], found[4];
    diagonal(head.query, SIZE, 1);
    diagonal(head.key, SIZE, 1);
    two[3] = 2;        /* token 0: scores 4 and 0, over 4: 1 and 0 */
    two[SIZE + 5] = 1; /* token 1: scores 0 and 1, over 4: 0 and 1/4 */
    const bool done = head_forward(&head, 1, 2, false, two, mixed, found);
    head_free(&head);
    const double e = exp(1), root = exp(0.25);
    const bool right = near(found[0], e / (e + 1)) && near(found[1], 1 / (e + 1)) &&
                       near(found[2], 1 / (1 + root)) && near(found[3], root / (1 + root));
    return done && right ? NULL : "the scores are not divided by the root of H";
}

static const char *symmetric_scores(void) {
    enum { S = 5 };
    struct head head = made(N_EMBD, H);
    real q[S * H], scores[S * S];
    project(x, head.query, S, N_EMBD, H, q);
    head_free(&head);
    attention_scores(q, q, S, H, scores);
    real weighed[S * S];
    bool same = true, skewed = false;
    for (size_t n = 0; n < S * S; n++) {
        weighed[n] = scores[n];
    }
    attention_weights(weighed, S);
    for (size_t i = 0; i < S; i++) {
        for (size_t j = 0; j < S; j++) {
            same = same && near(scores[i * S + j], scores[j * S + i]);
            skewed = skewed || !near(weighed[i * S + j], weighed[j * S + i]);
        }
    }
    return same && skewed ? NULL : "with one matrix for both, scores are symmetric, weights not";
}

static const char *identity_weights_give_the_values(void) {
    enum { SIZE = 5 };
    struct head head = made(SIZE, SIZE);
    real tokens[SIZE * SIZE], mixed[SIZE * SIZE], v[SIZE * SIZE];
    diagonal(tokens, SIZE, 1);
    diagonal(head.query, SIZE, 40); /* scores of 40 * 40 against 0: the rest weighs nothing */
    diagonal(head.key, SIZE, 40);
    bool right = head_forward(&head, 1, SIZE, false, tokens, mixed, NULL);
    project(tokens, head.value, SIZE, SIZE, SIZE, v);
    head_free(&head);
    for (size_t n = 0; n < SIZE * SIZE; n++) {
        right = right && near(mixed[n], v[n]);
    }
    return right ? NULL : "weights that are the identity do not give the values";
}

static const struct {
    const char *name;
    const char *(*test)(void);
} TESTS[] = {
    {"shape", shape},
    {"score shape", score_shape},
    {"rows sum to 1", rows_sum_to_one},
    {"analytical scaling", analytical_scaling},
    {"symmetric scores", symmetric_scores},
    {"identity weights give the values", identity_weights_give_the_values},
};

int main(void) {
    int failed = 0;
    xavier_init(x, BATCH * LONGEST, N_EMBD, 3); /* any numbers will do */
    for (size_t n = 0; n < sizeof TESTS / sizeof TESTS[0]; n++) {
        const char *wrong = TESTS[n].test();
        printf("%s %s%s%s\n", wrong == NULL ? "passed" : "FAILED", TESTS[n].name,
               wrong == NULL ? "" : ": ", wrong == NULL ? "" : wrong);
        failed += wrong != NULL;
    }
    return failed == 0 ? 0 : 1;
}

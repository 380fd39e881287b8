/* workers_threaded_test.c - one worker is one thread: its bits do not depend on the others.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads report by status; only the main thread asserts.
 */
#include "test.h"

#include "training.h"

#include <pthread.h>
#include <stdio.h>

enum { STEPS = 12 };

/* What one worker does, and what came of it. */
typedef struct job {
    training_spec spec;
    uint64_t mask_seed;
    pthread_barrier_t *start; /* NULL: at once */
    eg_status status;
    char error[256];
    float loss[STEPS];
    training t;
} job;

static eg_status job_train(job *j)
{
    EG_TRY(training_open(&j->t, &j->spec));
    j->t.masks = eg_rng_at(j->mask_seed, 0, 0, EG_FOR_DROPOUT);
    for (int i = 0; i < STEPS; i++) {
        EG_TRY(training_step(&j->t));
        j->loss[i] = *eg_plan_output(j->t.plan, "loss");
    }
    return EG_OK;
}

/* A thread's work: network, plan and training all belong to it. */
static void *job_run(void *context)
{
    job *j = context;
    if (j->start)
        pthread_barrier_wait(j->start);
    j->status = job_train(j);
    snprintf(j->error, sizeof j->error, "%s", eg_error());
    return NULL;
}

static void job_check(const job *j)
{
    if (j->status != EG_OK)
        fail_msg("%s: %s", j->spec.net.model, j->error);
}

static void run_alone(job *j)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, job_run, j), 0);
    pthread_join(thread, NULL);
    job_check(j);
}

static void run_together(size_t n, job *const *jobs)
{
    pthread_t threads[4];
    pthread_barrier_t start;
    assert_true(n <= 4);
    assert_int_equal(pthread_barrier_init(&start, NULL, (unsigned)n), 0);
    for (size_t i = 0; i < n; i++) {
        jobs[i]->start = &start;
        assert_int_equal(pthread_create(&threads[i], NULL, job_run, jobs[i]), 0);
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < n; i++)
        job_check(jobs[i]);
    pthread_barrier_destroy(&start);
}

/* Bits, not values: 0 and -0 differ. */
static bool same_floats(const void *a, const void *b, size_t n)
{
    return n == 0 || memcmp(a, b, n * sizeof(float)) == 0;
}

static bool same_bits(const job *a, const job *b)
{
    return same_floats(a->loss, b->loss, STEPS) &&
           same_floats(a->t.value, b->t.value, a->t.length) &&
           same_floats(a->t.grad, b->t.grad, a->t.length) &&
           same_floats(a->t.state, b->t.state, a->t.state_length);
}

static job job_of(const char *model, const char *optimizer, uint64_t seed)
{
    bool colour = strncmp(model, "resnet", 6) == 0;
    int64_t side = colour ? 8 : 28;
    return (job){.spec = {.net = {model, colour ? 3 : 1, side, side, 10, NULL},
                          .batch = 8,
                          .optimizer = optimizer,
                          .rate = "0.001",
                          .seed = seed},
                 .mask_seed = seed};
}

/* Trains a and b alone and then at once, on two threads. */
static void check_pair(job a, job b)
{
    job a_again = a, b_again = b;
    run_alone(&a);
    run_alone(&b);
    run_together(2, (job *[]){&a_again, &b_again});
    if (!same_bits(&a, &a_again) || !same_bits(&b, &b_again))
        fail_msg("%s beside %s trains differently", a.spec.net.model, b.spec.net.model);
    assert_true(a.loss[0] != a.loss[STEPS - 1]); /* something was learnt */
    training_close(&a.t);
    training_close(&b.t);
    training_close(&a_again.t);
    training_close(&b_again.t);
}

static void test_two_workers_give_the_bits_of_each_alone(void **state)
{
    (void)state;
    check_pair(job_of("cnn-small", "sgd", 1), job_of("resnet18-thin", "adam", 2));
    check_pair(job_of("cnn", "adamw", 3), job_of("mlp", "sgd", 4));
    check_pair(job_of("resnet18-thin", "sgd", 5), job_of("resnet18-thin", "sgd", 6));
}

static void test_four_workers_of_the_same_seed_give_the_same_bits(void **state)
{
    (void)state;
    job jobs[4];
    for (int i = 0; i < 4; i++)
        jobs[i] = job_of("cnn-small", "adam", 7);
    run_together(4, (job *[]){&jobs[0], &jobs[1], &jobs[2], &jobs[3]});
    for (int i = 1; i < 4; i++)
        assert_true(same_bits(&jobs[0], &jobs[i]));
    for (int i = 0; i < 4; i++)
        training_close(&jobs[i].t);
}

static void test_a_thread_does_not_matter(void **state)
{
    (void)state;
    job here = job_of("cnn-small", "sgd", 8), there = here;
    job_run(&here); /* on the main thread */
    job_check(&here);
    run_alone(&there);
    assert_true(same_bits(&here, &there));
    training_close(&here.t);
    training_close(&there.t);
}

static void test_other_seeds_of_dropout_give_other_bits(void **state)
{
    (void)state;
    job a = job_of("cnn-small", "sgd", 9), b = a;
    b.mask_seed = 10; /* weights and examples are the same */
    run_together(2, (job *[]){&a, &b});
    for (int i = 0; i < STEPS; i++)
        assert_true(a.loss[i] != b.loss[i]);
    training_close(&a.t);
    training_close(&b.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first, so that the process's very first plans are made by four threads at once */
        cmocka_unit_test(test_four_workers_of_the_same_seed_give_the_same_bits),
        cmocka_unit_test(test_two_workers_give_the_bits_of_each_alone),
        cmocka_unit_test(test_a_thread_does_not_matter),
        cmocka_unit_test(test_other_seeds_of_dropout_give_other_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

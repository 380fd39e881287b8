/* fed_a_gem_test.c - refinements, rates and weights worked by hand, and the mean of references.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"

#include "method/mean.h"

extern const eg_method eg_method_fed_a_gem;

static const eg_method *const method = &eg_method_fed_a_gem;

enum { REFERENCE = 1 }; /* its exchange */

/* Applies the gradient hook to g [n] with reference r [n]. */
static void refine(const char *const *options, size_t n, const float *r, float *g)
{
    hand_client h;
    eg_bundle *down;
    hand_client_open(&h, method, options, n, NULL, g);
    assert_ok(eg_bundle_new(&down));
    if (r)
        assert_ok(eg_bundle_add_flat(down, "fed_a_gem.reference", r, n));
    assert_ok(method->client.download(h.self, h.c, EG_TRAINING, down));
    assert_ok(method->client.grad(h.self, h.c));
    eg_bundle_free(down);
    hand_client_close(&h);
}

static void project(size_t n, const float *r, float *g)
{
    refine(NULL, n, r, g);
}

static void test_a_conflicting_gradient_loses_its_part_along_the_reference(void **state)
{
    (void)state;
    const float r[] = {3, 4, 0};
    float g[] = {-1, -2, 5}; /* g.r = -11, r.r = 25: g + 11/25 r */
    project(3, r, g);
    assert_near((double)g[0], -1 + 11.0 / 25 * 3, 1e-6);
    assert_near((double)g[1], -2 + 11.0 / 25 * 4, 1e-6);
    assert_near((double)g[2], 5, 0);
    assert_near((double)(g[0] * r[0] + g[1] * r[1]), 0, 1e-5);
}

static void test_other_gradients_are_left_alone(void **state)
{
    (void)state;
    const float r[] = {3, 4, 0}, zero[3] = {0};
    float g[] = {1, 2, 5}, h[] = {4, -3, 1}, k[] = {-1, -2, -3};
    project(3, r, g); /* no conflict */
    project(3, r, h); /* a right angle */
    project(3, zero, k);
    project(3, NULL, k); /* no reference yet */
    assert_near((double)g[1], 2, 0);
    assert_near((double)h[1], -3, 0);
    assert_near((double)k[2], -3, 0);
    refine((const char *const[]){"when", "always", NULL}, 3, zero, k); /* has no direction */
    assert_near((double)k[0], -1, 0);
    assert_near((double)k[2], -3, 0);
}

/* One form of the paper's Table 11 with r = (2, 1), r.r = 5, against values worked by hand:
 * past 90 degrees g = (-2, 2), g.r = -2; within them g = (1, 2), g.r = 4. */
static void check_refinement(const char *name, const double past[2], const double within[2])
{
    const char *const conflict[] = {"refinement", name, NULL};
    const char *const always[] = {"refinement", name, "when", "always", NULL};
    const float r[] = {2, 1};
    float g[] = {-2, 2}, h[] = {1, 2}, k[] = {-2, 2}, l[] = {1, 2};
    refine(conflict, 2, r, g);
    refine(conflict, 2, r, h);
    refine(always, 2, r, k);
    refine(always, 2, r, l);
    for (int i = 0; i < 2; i++) {
        assert_near((double)g[i], past[i], 1e-6);
        assert_near((double)k[i], past[i], 1e-6);
        assert_near((double)l[i], within[i], 1e-6);
    }
    assert_near((double)h[0], 1, 0); /* within 90 degrees: untouched */
    assert_near((double)h[1], 2, 0);
}

static void test_refinements_are_as_defined(void **state)
{
    (void)state;
    /* g + 2/5 r = (-1.2, 2.4); g - 4/5 r = (-0.6, 1.2) */
    check_refinement("project", (double[]){-1.2, 2.4}, (double[]){-0.6, 1.2});
    /* (0, 3) / 2; (3, 3) / 2 */
    check_refinement("average", (double[]){0, 1.5}, (double[]){1.5, 1.5});
    /* |g| = sqrt 8 along (0, 1); |g| = sqrt 5 along (1, 1) / sqrt 2 */
    check_refinement("rotate", (double[]){0, sqrt(8)}, (double[]){sqrt(2.5), sqrt(2.5)});
    /* |(-1.2, 2.4)| = sqrt 7.2, to sqrt 8; |(-0.6, 1.2)| = sqrt 1.8, to sqrt 5: both along
     * (-1, 2) / sqrt 5 */
    check_refinement("project-scale", (double[]){-sqrt(1.6), 2 * sqrt(1.6)}, (double[]){-1, 2});
}

static void test_opposite_gradients_leave_no_noise(void **state)
{
    (void)state;
    static const char *const names[] = {"project-scale", "rotate"};
    for (int i = 0; i < 2; i++) {
        const char *const options[] = {"refinement", names[i], NULL};
        const float r[] = {0.3F, 0.7F, -0.1F};
        float g[] = {-0.3F, -0.7F, 0.1F};
        refine(options, 3, r, g);
        for (int k = 0; k < 3; k++)
            assert_near((double)g[k], 0, 1e-6);
    }
}

/* What is left of g by rounding alone has no direction to be stretched along; what is a little
 * more has. */
static void test_what_little_is_left_keeps_its_direction(void **state)
{
    (void)state;
    static const char *const options[] = {"refinement", "project-scale", "when", "always",
                                          NULL};
    const float r[] = {1, 0};
    float none[] = {0, 0}, rounding[] = {-1, 0.9e-6F}, little[] = {-1, 1.2e-6F};
    refine(options, 2, r, none);
    refine(options, 2, r, rounding);
    refine(options, 2, r, little);
    assert_true(fpclassify(none[0]) == FP_ZERO && fpclassify(none[1]) == FP_ZERO);
    assert_near((double)rounding[1], 0.9e-6, 1e-12);
    assert_near((double)little[1], 1, 1e-6);
}

/* A sum of answers tells nothing of a single client's update, which its other weights need. */
static void test_sums_alone_do_where_clients_weigh_alike(void **state)
{
    (void)state;
    static const char *const ways[] = {"mean", "cosine", "softmax"};
    for (int i = 0; i < 3; i++) {
        hand_part p;
        eg_wishes wishes = {0};
        hand_part_open(&p, method, (const char *const[]){"aggregation", ways[i], NULL});
        assert_ok(
            method->setup(p.parts.at[0].options, &(eg_setting){.train = &p.train}, &wishes));
        assert_int_equal(wishes.sums, i == 0);
        eg_parts_free(&p.parts);
    }
}

/* Where sums alone are told, the answers of the second exchange are a vector of all parameters;
 * those of training hold nothing of its own. */
static void test_what_is_summed_is_declared(void **state)
{
    (void)state;
    eg_net *net;
    eg_bundle *b;
    size_t n;
    assert_ok(eg_net_new(&(eg_net_spec){"mlp", 1, 2, 2, 3, "depth=0", 0, NULL, NULL}, &net));
    assert_ok(eg_bundle_new(&b));
    assert_ok(method->sums(NULL, net, EG_TRAINING, b));
    assert_int_equal(eg_bundle_n(b), 0);
    assert_ok(method->sums(NULL, net, REFERENCE, b));
    assert_int_equal(eg_bundle_n(b), 1);
    assert_non_null(eg_bundle_find(b, "fed_a_gem.reference", &n));
    assert_int_equal(n, eg_params_length(eg_net_params(net)));
    eg_bundle_free(b);
    eg_net_free(net);
}

/* How many of n conflicting gradients are projected, batch after batch. */
static int64_t count_projected(const char *rate, uint64_t n)
{
    const float r[] = {1, 0};
    float g[2];
    int64_t count = 0;
    hand_client h;
    eg_bundle *down;
    hand_client_open(&h, method, (const char *const[]){"rate", rate, NULL}, 2, NULL, g);
    assert_ok(eg_bundle_new(&down));
    assert_ok(eg_bundle_add_flat(down, "fed_a_gem.reference", r, 2));
    for (uint64_t step = 0; step < n; step++) {
        g[0] = -1, g[1] = 1;
        h.c->step = step % 100, h.c->round = (int64_t)step / 100;
        assert_ok(method->client.download(h.self, h.c, EG_TRAINING, down));
        assert_ok(method->client.grad(h.self, h.c));
        count += g[0] > -0.5F;
    }
    assert_ok(method->client.trained(h.self, h.c));
    assert_int_equal(h.reply.n_notes, 1);
    assert_string_equal(h.reply.notes[0].name, "fed_a_gem.refined");
    assert_near(h.reply.notes[0].value, (double)count / (double)n, 1e-12);
    eg_bundle_free(down);
    hand_client_close(&h);
    return count;
}

static void test_the_rate_is_the_share_of_projected_gradients(void **state)
{
    (void)state;
    assert_int_equal(count_projected("0", 1000), 0);
    assert_int_equal(count_projected("1", 1000), 1000);
    /* five standard deviations of 10000 draws */
    assert_near((double)count_projected("0.1", 10000), 1000, 150);
    assert_near((double)count_projected("0.5", 10000), 5000, 250);
    assert_near((double)count_projected("0.8", 10000), 8000, 200);
}

/* The share is of all gradients that met a reference: those that did not conflict too. */
static void test_the_share_of_refined_gradients_is_noted(void **state)
{
    (void)state;
    const float r[] = {1, 0};
    float g[2];
    hand_client h;
    eg_bundle *down;
    hand_client_open(&h, method, NULL, 2, NULL, g);
    assert_ok(eg_bundle_new(&down));
    assert_ok(method->client.download(h.self, h.c, EG_TRAINING, down));
    assert_ok(method->client.grad(h.self, h.c));
    assert_ok(method->client.trained(h.self, h.c));
    assert_int_equal(h.reply.n_notes, 0); /* there was no reference */
    assert_ok(eg_bundle_add_flat(down, "fed_a_gem.reference", r, 2));
    assert_ok(method->client.download(h.self, h.c, EG_TRAINING, down));
    for (int i = 0; i < 8; i++) {
        g[0] = i < 2 ? -1 : (float)(i % 2), g[1] = 1;
        assert_ok(method->client.grad(h.self, h.c));
        if (i == 0)
            assert_ok(method->client.trained(h.self, h.c));
    }
    assert_ok(method->client.trained(h.self, h.c));
    assert_int_equal(h.reply.n_notes, 2);
    assert_near(h.reply.notes[0].value, 1, 0);
    assert_near(h.reply.notes[1].value, 0.25, 0);
    eg_bundle_free(down);
    hand_client_close(&h);
}

static void test_the_reference_is_refreshed_every_so_many_rounds(void **state)
{
    (void)state;
    hand_server each, third;
    hand_server_open(&each, method, NULL, 2, NULL);
    hand_server_open(&third, method, (const char *const[]){"refresh", "3", NULL}, 2, NULL);
    for (int64_t round = 0; round < 9; round++) {
        each.s.round = third.s.round = round;
        assert_true(method->server.wants(each.self, &each.s, REFERENCE));
        assert_int_equal(method->server.wants(third.self, &third.s, REFERENCE), round % 3 == 2);
        assert_true(method->server.wants(third.self, &third.s, EG_TRAINING));
    }
    hand_server_close(&each);
    hand_server_close(&third);
}

static double weight_of(hand_server *h, const float param[2])
{
    eg_bundle *up;
    assert_ok(eg_bundle_new(&up));
    assert_ok(eg_bundle_add_flat(up, "param", param, 2));
    double weight = method->server.weight(h->self, &h->s, 0, up);
    eg_bundle_free(up);
    return weight;
}

/* Gives the server a reference r. */
static void server_learns(hand_server *h, const float r[2])
{
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "fed_a_gem.reference", r, 2));
    assert_ok(method->server.collect(h->self, &h->s, REFERENCE, EG_SERVER, b));
    eg_bundle_free(b);
}

static void test_cosine_weights_favour_those_who_descend(void **state)
{
    (void)state;
    float global[] = {1, 1};
    hand_server mean, cosine;
    const float down[] = {-2, -3}, aslant[] = {1, 0}, away[] = {2, 1}, stays[] = {1, 1};
    hand_server_open(&mean, method, NULL, 2, global);
    hand_server_open(&cosine, method, (const char *const[]){"aggregation", "cosine", NULL}, 2,
                     global);
    assert_ok(method->server.begin(mean.self, &mean.s));
    assert_ok(method->server.begin(cosine.self, &cosine.s));
    assert_near(weight_of(&cosine, away), 1, 0); /* no reference yet */
    server_learns(&mean, (const float[]){3, 4});
    server_learns(&cosine, (const float[]){3, 4});
    /* updates (-3, -4), (0, -1), (1, 0), (0, 0) against (-3, -4), of length 5 */
    assert_near(weight_of(&cosine, down), 1, 1e-12);
    assert_near(weight_of(&cosine, aslant), 0.8, 1e-12);
    assert_near(weight_of(&cosine, away), 0, 0);
    assert_near(weight_of(&cosine, stays), 0, 0);
    assert_near(weight_of(&mean, away), 1, 0);
    server_learns(&cosine, (const float[]){0, 0});
    assert_near(weight_of(&cosine, down), 0, 0); /* all zero: the core takes all alike */
    hand_server_close(&mean);
    hand_server_close(&cosine);
}

static void test_softmax_weights_leave_nobody_out(void **state)
{
    (void)state;
    float global[] = {1, 1};
    hand_server soft;
    const float down[] = {-2, -3}, away[] = {2, 1}, against[] = {4, 5}, stays[] = {1, 1};
    hand_server_open(&soft, method, (const char *const[]){"aggregation", "softmax", NULL}, 2,
                     global);
    assert_ok(method->server.begin(soft.self, &soft.s));
    assert_near(weight_of(&soft, away), 1, 0); /* no reference yet */
    server_learns(&soft, (const float[]){3, 4});
    /* cosines 1, -0.6 and -1; their exponentials to 15 digits, worked in decimals */
    assert_near(weight_of(&soft, down), 2.718281828459045, 1e-12);
    assert_near(weight_of(&soft, away), 0.548811636094026, 1e-12);
    assert_near(weight_of(&soft, against), 0.367879441171442, 1e-12);
    assert_near(weight_of(&soft, stays), 1, 0); /* no direction */
    server_learns(&soft, (const float[]){0, 0});
    assert_near(weight_of(&soft, down), 1, 0);
    hand_server_close(&soft);
}

/* A client's answer, accepted and added to the others, as the core does. */
static void take(hand_server *h, int64_t client, const eg_bundle *from, eg_bundle_mean *to)
{
    assert_ok(method->server.accept(h->self, &h->s, REFERENCE, client, from));
    assert_ok(eg_bundle_mean_add(to, from));
}

/* What all are sent, in place of what the bundle held. */
static void send_to(hand_server *h, eg_bundle *to)
{
    eg_bundle_clear(to);
    assert_ok(method->server.send(h->self, &h->s, EG_TRAINING, to));
}

static void check_reference(const eg_bundle *b)
{
    size_t n;
    const float *r = eg_bundle_find(b, "fed_a_gem.reference", &n);
    assert_int_equal(n, 2);
    assert_near((double)r[0], 4, 1e-6);
    assert_near((double)r[1], 1, 1e-6);
}

/* And it outlives the process. */
static void test_the_reference_is_the_plain_mean(void **state)
{
    (void)state;
    hand_server h, later;
    eg_bundle *b;
    eg_bundle_mean mean = {0};
    hand_server_open(&h, method, NULL, 2, NULL);
    hand_server_open(&later, method, NULL, 2, NULL);
    assert_ok(eg_bundle_new(&b));
    assert_ok(method->server.begin(h.self, &h.s));
    send_to(&h, b); /* nothing to send before the first reference */
    assert_int_equal(eg_bundle_n(b), 0);
    const float clients[3][2] = {{1, 2}, {3, 4}, {8, -3}};
    for (int i = 0; i < 3; i++) {
        eg_bundle_clear(b);
        assert_ok(eg_bundle_add_flat(b, "fed_a_gem.reference", clients[i], 2));
        take(&h, i, b, &mean);
    }
    eg_bundle_clear(b);
    take(&h, 3, b, &mean); /* an empty memory sends nothing */
    assert_ok(eg_bundle_mean_get(&mean, b));
    eg_bundle_mean_fini(&mean);
    assert_ok(method->server.collect(h.self, &h.s, REFERENCE, EG_SERVER, b));
    send_to(&h, b);
    check_reference(b);
    hand_server_save(&h, "fed_a_gem");
    assert_ok(hand_server_go_on(&later, &h));
    send_to(&later, b);
    check_reference(b);
    eg_bundle_free(b);
    hand_server_close(&h);
    hand_server_close(&later);
}

static void test_a_reference_of_another_length_is_refused(void **state)
{
    (void)state;
    const float r[] = {1, 2, 3};
    hand_server server;
    hand_client client;
    eg_bundle *b;
    hand_server_open(&server, method, NULL, 2, NULL);
    hand_client_open(&client, method, NULL, 2, NULL, NULL);
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "fed_a_gem.reference", r, 3));
    assert_fails(method->server.accept(server.self, &server.s, REFERENCE, 0, b), EG_ESHAPE,
                 "3 values, not 2");
    assert_fails(method->client.download(client.self, client.c, EG_TRAINING, b), EG_ESHAPE,
                 "3 values, not 2");
    eg_bundle_free(b);
    hand_server_close(&server);
    hand_client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_conflicting_gradient_loses_its_part_along_the_reference),
        cmocka_unit_test(test_other_gradients_are_left_alone),
        cmocka_unit_test(test_refinements_are_as_defined),
        cmocka_unit_test(test_opposite_gradients_leave_no_noise),
        cmocka_unit_test(test_what_little_is_left_keeps_its_direction),
        cmocka_unit_test(test_sums_alone_do_where_clients_weigh_alike),
        cmocka_unit_test(test_what_is_summed_is_declared),
        cmocka_unit_test(test_the_rate_is_the_share_of_projected_gradients),
        cmocka_unit_test(test_the_share_of_refined_gradients_is_noted),
        cmocka_unit_test(test_the_reference_is_refreshed_every_so_many_rounds),
        cmocka_unit_test(test_cosine_weights_favour_those_who_descend),
        cmocka_unit_test(test_softmax_weights_leave_nobody_out),
        cmocka_unit_test(test_the_reference_is_the_plain_mean),
        cmocka_unit_test(test_a_reference_of_another_length_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

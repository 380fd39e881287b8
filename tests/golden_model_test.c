/* golden_model_test.c - training runs against PyTorch's: losses, tensors, their way.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden.py made the fixtures; both sides compute weights and batches from one formula.
 */
#include "test.h"

#include "engine/graph/graph.h"
#include "golden_file.h"

#include <engram/model.h>
#include <engram/op.h>
#include <engram/optim.h>

#include <stdio.h>
#include <stdlib.h>

enum { GOLDEN_MASKS = 2 };

typedef struct golden_run {
    eg_json *file;
    eg_net *net;
    eg_graph *graph;
    eg_plan *plan;
    eg_optimizer *optimizer;
    float *value, *grad, *state, *first; /* first: value before training */
    int64_t batch, classes;
    int n_masks;
    struct {
        char name[8];
        uint32_t one_in; /* is dropped */
        size_t size;
    } masks[GOLDEN_MASKS];
} golden_run;

static float *tensor_data(const golden_run *r, const eg_param_info *t)
{
    return (t->trained ? r->value : r->state) + t->offset;
}

/* The net's own random masks become inputs, filled from the formula. */
static void masks_to_inputs(golden_run *r)
{
    eg_graph *g = r->graph;
    for (size_t i = 0; i < g->n_nodes; i++) {
        eg_node *x = g->nodes[i];
        if (strcmp(x->op->name, "dropout_mask") != 0)
            continue;
        eg_input_attr *attr = eg_arena_alloc(&g->arena, sizeof *attr);
        assert_non_null(attr);
        assert_true(r->n_masks < GOLDEN_MASKS);
        snprintf(r->masks[r->n_masks].name, sizeof r->masks->name, "mask%d", r->n_masks);
        r->masks[r->n_masks].one_in = (uint32_t)lrint(1 / *(const double *)x->attr);
        r->masks[r->n_masks].size = (size_t)eg_shape_size(x->shape);
        attr->name = r->masks[r->n_masks++].name;
        x->op = &eg_op_input;
        x->attr = attr;
    }
}

static void golden_compile(golden_run *r)
{
    const eg_net_spec *s = eg_net_spec_of(r->net);
    assert_ok(eg_graph_new(&r->graph));
    eg_graph *g = r->graph;
    eg_node *x = eg_input(g, "x", eg_dims(r->batch, s->channels, s->height, s->width));
    eg_node *labels = eg_input(g, "labels", eg_dims(r->batch));
    eg_node *loss = eg_cross_entropy(g, eg_net_forward(r->net, g, x), labels, NULL);
    eg_output(g, "loss", loss);
    eg_net_backward(r->net, g, loss);
    masks_to_inputs(r);
    assert_ok(eg_compile(g, &r->plan));
    assert_ok(eg_plan_bind(r->plan, eg_net_params(r->net), r->value, r->grad, r->state));
}

static void golden_optimizer(golden_run *r)
{
    const eg_json *o = eg_json_get(r->file, "optimizer");
    const char *const names[] = {"lr", "momentum", "weight_decay"};
    assert_ok(eg_optimizer_new(text_of(o, "kind"), eg_params_length(eg_net_params(r->net)),
                               &r->optimizer));
    for (int i = 0; i < 3; i++) {
        char value[32];
        snprintf(value, sizeof value, "%.17g", real_of(o, names[i]));
        if (i != 1 || strcmp(text_of(o, "kind"), "sgd") == 0)
            assert_ok(eg_optimizer_set(r->optimizer, names[i], value));
    }
}

static void golden_open(golden_run *r, const char *path)
{
    *r = (golden_run){0};
    assert_ok(eg_json_load(path, &r->file));
    const eg_json *sample = eg_json_get(r->file, "sample");
    int64_t dims[3] = {1, 28, 28};
    for (size_t i = 0; eg_json_count(sample) == 3 && i < 3; i++)
        assert_ok(eg_json_int(eg_json_at(sample, i), &dims[i]));
    r->batch = int_of(r->file, "batch");
    r->classes = int_of(r->file, "classes");
    const eg_json *other = eg_json_get(r->file, "engram"); /* its name and options here */
    const eg_net_spec spec = {.model = text_of(other ? other : r->file, "model"),
                              .options = other ? text_of(other, "options") : NULL,
                              .channels = dims[0],
                              .height = dims[1],
                              .width = dims[2],
                              .classes = r->classes};
    assert_ok(eg_net_new(&spec, &r->net));
    const eg_params *p = eg_net_params(r->net);
    assert_ok(eg_params_alloc(p, &r->value));
    assert_ok(eg_params_alloc(p, &r->first));
    assert_ok(eg_params_alloc(p, &r->grad));
    assert_ok(eg_state_alloc(p, &r->state));
    const eg_json *tensors = eg_json_get(r->file, "tensors");
    assert_int_equal(eg_json_count(tensors), eg_params_n(p));
    for (size_t i = 0; i < eg_json_count(tensors); i++) {
        const eg_json *t = eg_json_at(tensors, i);
        const eg_param_info *info = tensor_of(eg_net_params(r->net), text_of(t, "name"));
        golden_fill((int)int_of(t, "t"), (float)real_of(t, "base"), (float)real_of(t, "scale"),
                    info->size, tensor_data(r, info));
    }
    memcpy(r->first, r->value, eg_params_length(p) * sizeof(float));
    golden_compile(r);
    golden_optimizer(r);
}

static void golden_close(golden_run *r)
{
    eg_optimizer_free(r->optimizer);
    eg_plan_free(r->plan);
    eg_graph_free(r->graph);
    eg_net_free(r->net);
    eg_json_free(r->file);
    free(r->value);
    free(r->grad);
    free(r->state);
    free(r->first);
}

static void golden_train(golden_run *r)
{
    const eg_net_spec *s = eg_net_spec_of(r->net);
    const eg_json *losses = eg_json_get(r->file, "losses");
    size_t n = (size_t)(r->batch * s->channels * s->height * s->width);
    for (size_t step = 0; step < eg_json_count(losses); step++) {
        int at = (int)step;
        golden_fill(GOLDEN_INPUT + at, 0, 1, n, eg_plan_input(r->plan, "x"));
        golden_fill_labels(GOLDEN_LABELS + at, (uint32_t)r->classes, (size_t)r->batch,
                           eg_plan_input(r->plan, "labels"));
        for (int m = 0; m < r->n_masks; m++)
            golden_fill_mask((m ? GOLDEN_SECOND_MASK : GOLDEN_FIRST_MASK) + at,
                             r->masks[m].one_in, r->masks[m].size,
                             eg_plan_input(r->plan, r->masks[m].name));
        assert_ok(eg_plan_run(r->plan));
        double want;
        assert_ok(eg_json_real(eg_json_at(losses, step), &want));
        assert_near((double)*eg_plan_output(r->plan, "loss"), want, 1e-4);
        eg_optimizer_step(r->optimizer, r->value, r->grad);
    }
}

/* Norm and 64 entries to a thousandth, and the way from the start, which a wrong rate would
 * show even where weights hardly change; there PyTorch's own float and double differ by `gap`.
 */
static void golden_check_tensor(const golden_run *r, const eg_json *t, double gap)
{
    const eg_param_info *info = tensor_of(eg_net_params(r->net), text_of(t, "name"));
    const float *have = tensor_data(r, info);
    double norm = 0, moved = 0, want = real_of(t, "norm");
    double off = golden_distance(eg_json_get(t, "at"), have, info->size, 1e-4);
    for (size_t j = 0; j < info->size; j++)
        norm += (double)have[j] * (double)have[j];
    if (!(fabs(sqrt(norm) - want) <= 1e-3 * want + 1e-7) || !(off <= 1e-3))
        fail_msg("%s: norm %g for %g, entries off by %g", info->name, sqrt(norm), want, off);
    if (!info->trained)
        return;
    for (size_t j = 0; j < info->size; j++) {
        double d = (double)have[j] - (double)r->first[info->offset + j];
        moved += d * d;
    }
    want = real_of(t, "moved");
    if (!(fabs(sqrt(moved) - want) <= (0.01 + 2 * gap) * want + 1e-7))
        fail_msg("%s moved by %g, not %g", info->name, sqrt(moved), want);
}

static void golden_check(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "tests/golden/%s.json", name);
    golden_run r;
    golden_open(&r, path);
    golden_train(&r);
    const eg_json *tensors = eg_json_get(r.file, "tensors");
    double gap = real_of(eg_json_get(r.file, "gap"), "update");
    for (size_t i = 0; i < eg_json_count(tensors); i++)
        golden_check_tensor(&r, eg_json_at(tensors, i), gap);
    golden_close(&r);
}

#define GOLDEN(test, fixture)                                                                  \
    static void test(void **state)                                                             \
    {                                                                                          \
        (void)state;                                                                           \
        golden_check(fixture);                                                                 \
    }

GOLDEN(test_mlp_with_sgd, "mlp-sgd")
GOLDEN(test_mlp_with_momentum, "mlp-momentum")
GOLDEN(test_mlp_with_adam, "mlp-adam")
GOLDEN(test_mlp_with_adamw, "mlp-adamw")
GOLDEN(test_cnn_with_sgd, "cnn-sgd")
GOLDEN(test_cnn_with_momentum, "cnn-momentum")
GOLDEN(test_cnn_with_adam, "cnn-adam")
GOLDEN(test_cnn_with_adamw, "cnn-adamw")
GOLDEN(test_cnn_small_with_given_masks, "cnn-small-sgd")
GOLDEN(test_layers_of_pfl_with_given_masks, "pfl-cnn-sgd")
GOLDEN(test_vit_with_sgd, "vit-sgd")
GOLDEN(test_tiny_yolo_with_sgd, "tiny-yolo-cell-sgd")
GOLDEN(test_resnet18_thin_with_sgd, "resnet18-thin-sgd")
GOLDEN(test_resnet18_thin_with_adam, "resnet18-thin-adam")
GOLDEN(test_resnet18_with_the_stem_of_imagenet, "resnet18-thin-stem-sgd")
GOLDEN(test_resnet18_with_sgd, "resnet18-sgd")
GOLDEN(test_resnet18_with_adam, "resnet18-adam")

int main(int argc, char **argv)
{
    if (argc > 1 && eg_isa_set(argv[1]) != EG_OK) {
        printf("not tested here: %s\n", eg_error());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp_with_sgd),
        cmocka_unit_test(test_mlp_with_momentum),
        cmocka_unit_test(test_mlp_with_adam),
        cmocka_unit_test(test_mlp_with_adamw),
        cmocka_unit_test(test_cnn_with_sgd),
        cmocka_unit_test(test_cnn_with_momentum),
        cmocka_unit_test(test_cnn_with_adam),
        cmocka_unit_test(test_cnn_with_adamw),
        cmocka_unit_test(test_cnn_small_with_given_masks),
        cmocka_unit_test(test_layers_of_pfl_with_given_masks),
        cmocka_unit_test(test_vit_with_sgd),
        cmocka_unit_test(test_tiny_yolo_with_sgd),
        cmocka_unit_test(test_resnet18_thin_with_sgd),
        cmocka_unit_test(test_resnet18_thin_with_adam),
        cmocka_unit_test(test_resnet18_with_the_stem_of_imagenet),
        cmocka_unit_test(test_resnet18_with_sgd),
        cmocka_unit_test(test_resnet18_with_adam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* acc_last_ten.c - mean accuracy over what was measured in the last ten rounds (Re-Fed).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "metric/metric.h"

static bool acc_last_ten(const eg_record *r, const eg_record *reference, int64_t who,
                         double *out)
{
    (void)reference;
    int64_t n_rows = eg_record_n_rows(r), n = 0;
    double sum = 0, a;
    for (int64_t row = n_rows - 1; row > 0; row--) {
        if (eg_record_round(r, row) + 10 <= eg_record_round(r, n_rows - 1))
            break;
        if (eg_record_mean(r, row, who, &a))
            sum += a, n++;
    }
    *out = n ? sum / (double)n : 0;
    return n > 0;
}

const eg_metric eg_metric_acc_last_ten = {
    .name = "acc_last_ten",
    .help = "accuracy in the last ten rounds",
    .formula = "mean of Acc over the last ten rounds, as far as it was measured (eval.every)",
    .value = acc_last_ten,
};

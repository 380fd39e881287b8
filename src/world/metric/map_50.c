/* map_50.c - mean average precision of boxes after the last task, at overlap 0.5.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool map_50(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference;
    return eg_metric_boxes(r, who, true, out);
}

const eg_metric eg_metric_map_50 = {
    .component = {"map_50",
                  "mean average precision of boxes after the last task, at overlap 0.5", 0,
                  NULL},
    .heading = "mAP 0.5 %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 12,
    .weight = 97,
    .aside = true,
    .formula =
        "mAP_50 = 1/T sum over tasks j, and mean over classes, of the average precision on "
        "task j "
        "after the last task, by COCO's rules: precision at 101 points of recall, the 100 "
        "surest boxes of a class and image; a box is right if it takes a true one that it "
        "overlaps by 0.5 or more",
    .value = map_50,
};

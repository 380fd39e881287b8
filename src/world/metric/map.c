/* map.c - mean average precision of boxes after the last task, over overlaps 0.5 to 0.95.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/metric/metric.h"

static bool map(const eg_record *r, const eg_record *reference, int64_t who, double *out)
{
    (void)reference;
    return eg_metric_boxes(r, who, false, out);
}

const eg_metric eg_metric_map = {
    .component = {"map", "mean average precision of boxes after the last task, by COCO", 0,
                  NULL},
    .heading = "mAP %",
    .unit = EG_UNIT_PERCENT,
    .better = 1,
    .place = 13,
    .weight = 98,
    .aside = false,
    .formula =
        "mAP = 1/T sum over tasks j, and mean over classes, of the average precision on task j "
        "after the last task, by COCO's rules: precision at 101 points of recall, the 100 "
        "surest boxes of a class and image; a box is right if it takes a true one that it "
        "overlaps by x or more, mean over x = 0.5, 0.55, ..., 0.95",
    .value = map,
};

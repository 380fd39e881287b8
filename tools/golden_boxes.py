#!/usr/bin/python3
# golden_boxes.py - average precision and YOLO's loss by a second program, for engram's tests.
# SPDX-License-Identifier: Apache-2.0
#
#   tools/golden_boxes.py          writes precision.json, region.json and boxes.json in tests/golden
#   tools/golden_boxes.py --check  computes them again and compares
#
# precision.json has, for each of 1000 cases, mean average precision at overlap 0.5 and that over
# 0.5 to 0.95, by the rules of COCO's evaluation: matching image by image, corners of boxes, and
# NumPy's sorting and searching, written from the rules. region.json has the loss of a region and
# its gradient by PyTorch's automatic differentiation, in double.
#
# Case k draws u_0, u_1, ... = h(100 + k, j) / 2^24 with h of golden_formula.py: classes
# 1 + floor(3 u), images 1 + floor(4 u). For each image: floor(6 u) true boxes, each class
# floor(C u), x and y 0.2 + 0.6 u, w and h 0.05 + 0.3 u, a crowd if u < 0.1; floor(9 u) found ones:
# near if u < 0.6 and there is a true one: the box floor(n u), class and all, each of x, y, w, h
# times 0.9 + 0.2 u; else class and place drawn as those of a true one; score floor(20 u) / 20.
# Numbers are rounded to float when they are drawn.
#
# boxes.json has, for each of 200 cases, typical shapes and what suppression leaves. Case k draws
# from 2000 + k: anchors 1 + floor(5 u), sizes 8 + floor(40 u), each w and h (1 + floor(40 u)) / 64;
# then floor(30 u) found boxes, each class floor(2 u), a place as above, score floor(20 u) / 20. The
# shapes are k-means by 1 - overlap of sizes with one centre: it begins with the different sizes
# number floor((2 i + 1) m / 2n) of m in order of area, then width; the first of equals is nearest;
# it ends when no size moves, or after 300 passes. What is left are places in the order drawn.
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch

from golden_formula import formula_hash, formula_value

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
CASES = 1000
OVERLAPS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0.0, 1.0, 101)
MOST = 100


class Draws:
    def __init__(self, t):
        self.values, self.at = formula_hash(t, 1000).astype(np.float64) / (1 << 24), 0

    def unit(self):
        self.at += 1
        return float(self.values[self.at - 1])

    def below(self, n):
        return int(math.floor(self.unit() * n))


def draw_place(d):
    x, y = (0.2 + 0.6 * d.unit() for _ in range(2))
    w, h = (0.05 + 0.3 * d.unit() for _ in range(2))
    return [float(np.float32(v)) for v in (x, y, w, h)]


def draw_case(k):
    d = Draws(100 + k)
    classes, images = 1 + d.below(3), []
    for _ in range(1 + d.below(4)):
        truths = []
        for _ in range(d.below(6)):
            kind = d.below(classes)
            place = draw_place(d)
            truths.append((kind, place, d.unit() < 0.1))
        found = []
        for _ in range(d.below(9)):
            if d.unit() < 0.6 and truths:
                kind, place, _ = truths[d.below(len(truths))]
                place = [float(np.float32(v * (0.9 + 0.2 * d.unit()))) for v in place]
            else:
                kind = d.below(classes)
                place = draw_place(d)
            found.append((kind, place, float(np.float32(d.below(20) / 20))))
        images.append((truths, found))
    return classes, images


def corners(place):
    x, y, w, h = place
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def overlap(a, b, crowd):
    """Of a found box with a true one."""
    ax, ay, au, av = corners(a)
    bx, by, bu, bv = corners(b)
    w, h = min(au, bu) - max(ax, bx), min(av, bv) - max(ay, by)
    if w <= 0 or h <= 0:
        return 0.0
    area = a[2] * a[3]
    return w * h / (area if crowd else area + b[2] * b[3] - w * h)


def match(found, truths):
    """Of one image and class: for each overlap and box its match, or -1, and if that is a crowd."""
    truths = sorted(truths, key=lambda t: t[2])
    order = np.argsort([-f[2] for f in found], kind="mergesort")[:MOST]
    found = [found[i] for i in order]
    taken = np.zeros((len(OVERLAPS), len(truths)), bool)
    right = np.zeros((len(OVERLAPS), len(found)), bool)
    ignored = np.zeros((len(OVERLAPS), len(found)), bool)
    for k, least in enumerate(OVERLAPS):
        for i, f in enumerate(found):
            best, at = min(least, 1 - 1e-10), -1
            for j, t in enumerate(truths):
                if taken[k, j] and not t[2]:
                    continue
                if at > -1 and not truths[at][2] and t[2]:
                    break
                here = overlap(f[1], t[1], t[2])
                if here < best:
                    continue
                best, at = here, j
            if at > -1:
                taken[k, at] = right[k, i] = True
                ignored[k, i] = truths[at][2]
    return [f[2] for f in found], right, ignored, sum(not t[2] for t in truths)


def average(scores, right, ignored, n_true):
    """Average precision for each overlap."""
    order = np.argsort(-np.asarray(scores), kind="mergesort")
    out = []
    for k in range(len(OVERLAPS)):
        good = np.cumsum((right[k] & ~ignored[k])[order]).astype(float)
        bad = np.cumsum((~right[k] & ~ignored[k])[order]).astype(float)
        recall = good / n_true
        precision = good / (good + bad + np.spacing(1))
        for i in range(len(precision) - 1, 0, -1):
            precision[i - 1] = max(precision[i - 1], precision[i])
        at = np.searchsorted(recall, RECALLS, side="left")
        out.append(np.mean([precision[i] if i < len(precision) else 0.0 for i in at]))
    return out


def precision(k):
    classes, images = draw_case(k)
    each = []
    for kind in range(classes):
        parts = [match([f for f in found if f[0] == kind], [t for t in truths if t[0] == kind])
                 for truths, found in images]
        n_true = sum(p[3] for p in parts)
        if n_true:
            scores = sum((p[0] for p in parts), [])
            right = np.concatenate([p[1] for p in parts], axis=1)
            ignored = np.concatenate([p[2] for p in parts], axis=1)
            each.append(average(scores, right, ignored, n_true))
    each = np.asarray(each) if each else np.zeros((1, len(OVERLAPS)))
    return [round(float(each[:, 0].mean()), 9), round(float(each.mean()), 9)]


SHAPE_CASES = 200


def shape_case(k):
    d = Draws(2000 + k)
    n, m = 1 + d.below(5), 8 + d.below(40)
    sizes = [tuple((1 + d.below(40)) / 64 for _ in range(2)) for _ in range(m)]
    found = []
    for _ in range(d.below(30)):
        kind = d.below(2)
        found.append((kind, draw_place(d), float(np.float32(d.below(20) / 20))))
    return n, sizes, found


def shapes_of(n, sizes):
    points = np.array(sizes)
    starts = sorted(set(sizes), key=lambda s: (s[0] * s[1], s[0]))
    shapes = np.array([starts[(2 * i + 1) * len(starts) // (2 * n)] for i in range(n)])
    owner = None
    for _ in range(300):
        common = np.minimum(points[:, None], shapes[None]).prod(2)
        alike = common / (points.prod(1)[:, None] + shapes.prod(1)[None] - common)
        now = alike.argmax(1)
        if owner is not None and (now == owner).all():
            break
        owner = now
        for i in range(n):
            if (owner == i).any():
                shapes[i] = points[owner == i].mean(0)
    return [[float(f"{v:.9g}") for v in s] for s in sorted(shapes.tolist(), key=lambda s: s[0] * s[1])]


def left_of(found):
    order = np.argsort([-f[2] for f in found], kind="mergesort") if found else []
    kept = []
    for i in order:
        if all(found[i][0] != found[j][0] or overlap(found[i][1], found[j][1], False) <= 0.45 for j in kept):
            kept.append(int(i))
    return kept


def boxes():
    cases = [shape_case(k) for k in range(SHAPE_CASES)]
    return {"shapes": [shapes_of(n, sizes) for n, sizes, _ in cases],
            "left": [left_of(found) for _, _, found in cases]}


# Two images, two anchors, three classes, a grid of two rows and three columns.
ANCHORS = [(0.2, 0.3), (0.6, 0.4)]
ROWS, COLUMNS, CLASSES = 2, 3, 3
WEIGHTS = {"coordinates": 1.5, "object": 5.0, "background": 0.5, "kinds": 2.0, "ignore": 0.3}
BOXES = [[(1, 0.25, 0.3, 0.22, 0.28), (0, 0.7, 0.8, 0.5, 0.35), (2, 0.26, 0.31, 0.18, 0.3)],
         [(2, 0.5, 0.5, 0.9, 0.8)]]


def shape_overlap(a, b):
    common = min(a[0], b[0]) * min(a[1], b[1])
    return common / (a[0] * a[1] + b[0] * b[1] - common)


def region_loss(outputs):
    """The mean over images; outputs [images, anchors, 5 + classes, rows, columns]."""
    total = 0
    for o, boxes in zip(outputs, BOXES):
        owner = {}
        for number, b in enumerate(boxes):
            a = max(range(len(ANCHORS)), key=lambda a: shape_overlap(ANCHORS[a], b[3:]))
            owner.setdefault((a, int(b[2] * ROWS), int(b[1] * COLUMNS)), number)
        for a in range(len(ANCHORS)):
            for r in range(ROWS):
                for c in range(COLUMNS):
                    total = total + region_place(o[a, :, r, c], boxes, owner, a, r, c)
    return total / len(BOXES)


def region_place(t, boxes, owner, a, r, c):
    x, y, sure = torch.sigmoid(t[0]), torch.sigmoid(t[1]), torch.sigmoid(t[4])
    now = [(c + x.item()) / COLUMNS, (r + y.item()) / ROWS,
           ANCHORS[a][0] * math.exp(t[2].item()), ANCHORS[a][1] * math.exp(t[3].item())]
    number = owner.get((a, r, c))
    if number is None:
        free = all(overlap(now, b[1:], False) <= WEIGHTS["ignore"] for b in boxes)
        return WEIGHTS["background"] * sure ** 2 if free else 0 * sure
    kind, bx, by, bw, bh = boxes[number]
    place = ((x - (bx * COLUMNS - c)) ** 2 + (y - (by * ROWS - r)) ** 2 +
             (t[2] - math.log(bw / ANCHORS[a][0])) ** 2 + (t[3] - math.log(bh / ANCHORS[a][1])) ** 2)
    kinds = -torch.log_softmax(t[5:], 0)[kind]
    return (WEIGHTS["coordinates"] * (2 - bw * bh) * place +
            WEIGHTS["object"] * (sure - overlap(now, boxes[number][1:], False)) ** 2 +
            WEIGHTS["kinds"] * kinds)


def region():
    shape = (len(BOXES), len(ANCHORS), 5 + CLASSES, ROWS, COLUMNS)
    values = formula_value(7, int(np.prod(shape)), 0.0, 1.0)
    outputs = torch.from_numpy(values.reshape(shape)).double().requires_grad_(True)
    loss = region_loss(outputs)
    loss.backward()
    return {"loss": float(f"{loss.item():.12g}"),
            "grad": [float(f"{g:.9g}") for g in outputs.grad.flatten().tolist()]}


def main():
    files = {"precision": {"cases": [precision(k) for k in range(CASES)]}, "region": region(), "boxes": boxes()}
    bad = 0
    for name, content in files.items():
        path = GOLDEN / f"{name}.json"
        if "--check" in sys.argv:
            bad += json.loads(path.read_text()) != content
        else:
            path.write_text(json.dumps(content, separators=(",", ":")).replace("],[", "],\n[") + "\n")
    print(f"{len(files)} files, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

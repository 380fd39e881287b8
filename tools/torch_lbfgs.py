#!/usr/bin/python3
# torch_lbfgs.py - where PyTorch's L-BFGS goes, for src/method/lib/inversion_test.c.
# SPDX-License-Identifier: Apache-2.0
#
# f(x) = sum of (1 - x_i)^2 + 2 (x_(i+1) - x_i^2)^2 from (-0.5, 0.3, 0.8), steps of 0.1, one
# iteration at a time with a history of 100, in double: prints x after 1, 2, 10 and 60 steps.
import torch

x = torch.tensor([-0.5, 0.3, 0.8], dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.LBFGS([x], lr=0.1, max_iter=1, history_size=100, tolerance_grad=0,
                              tolerance_change=0)


def loss():
    optimizer.zero_grad()
    value = ((1 - x) ** 2).sum() + 2 * ((x[1:] - x[:-1] ** 2) ** 2).sum()
    value.backward()
    return value


for step in range(1, 61):
    optimizer.step(loss)
    if step in (1, 2, 10, 60):
        print(step, *(f"{v:.7f}" for v in x.tolist()))

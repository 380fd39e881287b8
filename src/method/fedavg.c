/* fedavg.c - federated averaging (McMahan et al., 2017, arXiv:1602.05629).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: plain local training. Server: the mean of the clients' models, weighted as
 * server.weights says. That is what the core does by itself; this part only gives it its name.
 */
#include <engram/method.h>

const eg_method eg_method_fedavg = {
    .component = {"fedavg", "local training, and the mean of the clients' models", 0, NULL},
};

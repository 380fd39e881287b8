/* dp.c - `engram dp`: what noise costs, or which noise a cost allows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/privacy.h>

#include <stdio.h>

typedef struct dp_call {
    double q, sigma, epsilon, rounds, delta;
} dp_call;

static const cli_option dp_options[] = {
    CLI_REAL("--q", "SHARE", dp_call, q, 0, 1e9,
             "the chance that a client takes part in a round: 1 if all do"),
    CLI_REAL("--sigma", "SIGMA", dp_call, sigma, 0, 1e9,
             "the noise, in units of what one client can change"),
    CLI_REAL("--epsilon", "EPSILON", dp_call, epsilon, 0, 1e9,
             "the most that may be spent: prints the least sigma for it", .without = "--sigma"),
    CLI_REAL("--rounds", "N", dp_call, rounds, 0, 1e12, "how many sums are released"),
    CLI_REAL("--delta", "DELTA", dp_call, delta, 0, 1e9,
             "the chance that epsilon is no bound: far below one in the number of clients"),
    CLI_END,
};

static int dp_run(int argc, char **argv)
{
    dp_call c = {.sigma = -1, .epsilon = -1, .q = -1, .rounds = -1, .delta = -1};
    int wrong = cli_parse(&eg_verb_dp, argc, argv, &c);
    if (wrong)
        return wrong;
    if (c.q < 0 || c.rounds < 0 || c.delta < 0 || (c.sigma < 0 && c.epsilon < 0))
        return eg_cli_usage("dp", "--q, --rounds, --delta and one of --sigma and --epsilon are "
                                  "needed");
    double sigma = c.sigma;
    eg_status s = sigma < 0 ? eg_dp_sigma_for(c.q, c.epsilon, c.rounds, c.delta, &sigma)
                            : eg_dp_check(c.q, sigma, c.rounds, c.delta);
    if (s != EG_OK)
        return eg_cli_failed();
    eg_dp_spent spent = {0};
    int order;
    eg_dp_spend(&spent, c.q, sigma, c.rounds);
    double epsilon = eg_dp_epsilon(&spent, c.delta, &order);
    if (c.sigma < 0)
        printf("sigma %.6g\n", sigma);
    printf("epsilon %.4f at delta %g (order %d)\n", epsilon, c.delta, order);
    return 0;
}

const eg_verb eg_verb_dp = {
    .name = "dp",
    .run = dp_run,
    .usage = "--q SHARE --sigma SIGMA --rounds N --delta DELTA\n"
             "dp --q SHARE --epsilon EPSILON --rounds N --delta DELTA",
    .help = "what differential privacy costs: epsilon of a noise, or the noise for an epsilon",
    .details = "A run with the settings of `dp` counts the same way, and says after each round "
               "what is spent.",
    .options = dp_options,
};

/* flops.h - what plans have computed, counted by thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every run of a plan adds its eg_plan_flops to the count of the thread that runs it: one
 * addition, no lock. Whoever wants the share of some work takes the difference over it; work
 * that other threads do in one's place is added by hand.
 */
#ifndef EG_FLOPS_H
#define EG_FLOPS_H

#include <stdint.h>

uint64_t eg_flops(void); /* this thread's count */
void eg_flops_set(uint64_t flops);

#endif

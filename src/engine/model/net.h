/* net.h - what files of a net need to know of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SRC_NET_H
#define EG_SRC_NET_H

#include <engram/model.h>

/* The room for a model's options as a text. */
enum { EG_NET_OPTIONS = 2 * EG_OPT_TEXT_SIZE };

const eg_model *eg_net_model(const eg_net *net);
const void *eg_net_options(const eg_net *net);

/* Channels, height and width of what it reads, also where a run begins behind its features. */
const int64_t *eg_net_input(const eg_net *net);

/* The numbers of the first tensor of the head, and of the second head, which stands last. */
void eg_net_heads(const eg_net *net, size_t *head, size_t *side);

#endif

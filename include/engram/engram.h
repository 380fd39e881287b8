/* engram/engram.h - all of engram's public headers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who owns what:
 * 1. What you _new, you _free; what else must be released says so, and with what, in its
 *    header. Nothing is reference-counted.
 * 2. A pointer you get otherwise is borrowed, and const unless you are to write there; its
 *    header says until when.
 * 3. A graph owns every node recorded in it, a plan every byte it computes with; freeing one
 *    frees them all.
 * 4. A model's parameters, and their gradients, are one contiguous array each, so that sending,
 *    averaging, saving and clipping are one loop.
 * 5. A component's state is `size` zeroed bytes that its maker allocates, fills with options,
 *    and frees.
 *
 * Signals: while kernels run, the stack pointer may lie in a workspace on the heap (oneDNN's
 * generated code does that). A handler that can run on a thread of ours must have a stack of
 * its own (sigaltstack and SA_ONSTACK); better, block the signal there and wait for it
 * elsewhere.
 */
#ifndef EG_ENGRAM_H
#define EG_ENGRAM_H

#include <engram/base.h>
#include <engram/box.h>
#include <engram/cluster.h>
#include <engram/component.h>
#include <engram/data.h>
#include <engram/exchange.h>
#include <engram/experiment.h>
#include <engram/fed.h>
#include <engram/gallery.h>
#include <engram/generator.h>
#include <engram/graph.h>
#include <engram/join.h>
#include <engram/keys.h>
#include <engram/layers.h>
#include <engram/learner.h>
#include <engram/log.h>
#include <engram/memory.h>
#include <engram/method.h>
#include <engram/metric.h>
#include <engram/model.h>
#include <engram/network.h>
#include <engram/op.h>
#include <engram/opt.h>
#include <engram/optim.h>
#include <engram/params.h>
#include <engram/plugin.h>
#include <engram/predict.h>
#include <engram/pretrain.h>
#include <engram/privacy.h>
#include <engram/program.h>
#include <engram/report.h>
#include <engram/rng.h>
#include <engram/safetensors.h>
#include <engram/saved.h>
#include <engram/scenario.h>
#include <engram/suggest.h>
#include <engram/target.h>
#include <engram/trainer.h>
#include <engram/transform.h>
#include <engram/transport.h>

#endif

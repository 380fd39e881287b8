/* stand.c - how a run stands and what it has learned, for whoever the transport tells.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/federation.h"

#include <math.h>
#include <stdlib.h>

eg_status eg_federation_save_model(eg_federation *f, const eg_bundle *known, char **path)
{
    EG_TRY(eg_run_folder_file(f->folder, EG_RUN_MODEL, path));
    eg_status s =
        eg_saved_write(f->e, &f->feed, f->net, f->seed, *path, f->param, f->state, known);
    if (s != EG_OK) {
        free(*path);
        *path = NULL;
    }
    return s;
}

/* The model of now, in the file in which the last one will be. */
static eg_status stand_show(eg_federation *f)
{
    eg_bundle *known;
    char *path = NULL;
    EG_TRY(eg_bundle_new(&known));
    eg_status s = eg_federation_add_known(f, known);
    if (s == EG_OK)
        s = eg_federation_save_model(f, known, &path);
    if (s == EG_OK)
        s = f->transport->show_model(f->carrier, path);
    eg_bundle_free(known);
    free(path);
    return s;
}

eg_status eg_federation_stand(eg_federation *f)
{
    const eg_transport *t = f->transport;
    if (t->stand)
        t->stand(f->carrier, &(eg_standing){.round = eg_cursor_round(f->cursor),
                                            .n_rounds = eg_scenario_n_rounds(f->feed.scenario),
                                            .loss = f->round_loss,
                                            .accuracy = f->accuracy >= 0 ? f->accuracy : NAN,
                                            .seconds = eg_federation_spent(f).seconds,
                                            .bytes_up = f->bytes_up,
                                            .bytes_down = f->bytes_down});
    return t->wants_model && t->wants_model(f->carrier) ? stand_show(f) : EG_OK;
}

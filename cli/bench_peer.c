/* bench_peer.c - the peer of a benchmark: a script that measures the same job when asked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The text of a key in a line of JSON, or "?". */
static void bench_peer_text(const char *line, const char *key, char out[64])
{
    const char *at = strstr(line, key);
    snprintf(out, 64, "%.*s", at ? (int)strcspn(at + strlen(key), "\"") : 1,
             at ? at + strlen(key) : "?");
}

/* Makes the peer's first line short: which version, which BLAS. */
static void bench_peer_name(bench_peer *p)
{
    char name[64], version[64], blas[64];
    bench_peer_text(p->about, "\"peer\": \"", name);
    bench_peer_text(p->about, "\"version\": \"", version);
    bench_peer_text(p->about, "\"blas\": \"", blas);
    snprintf(p->about, sizeof p->about, "%s %s, BLAS %s%s", name, version, blas,
             strcmp(blas, "reference") == 0 ? " (slow: install libopenblas0-pthread)" : "");
}

eg_status bench_peer_open(bench_peer *p, const char *name)
{
    memset(p, 0, sizeof *p);
    char script[1024];
    snprintf(script, sizeof script, "%s/peer_%s.py", ENGRAM_TOOLS, name);
    if (access(script, R_OK) != 0)
        return eg_fail(EG_ENOENT, "there is no peer '%s': %s is not there", name, script);
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0)
        return eg_fail(EG_EIO, "cannot make a pipe to the peer");
    p->pid = fork();
    if (p->pid < 0)
        return eg_fail(EG_EIO, "cannot start the peer");
    if (p->pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]), close(from[0]);
        execl("/usr/bin/python3", "python3", script, "--serve", (char *)NULL);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    p->to = fdopen(to[1], "w");
    p->from = fdopen(from[0], "r");
    if (!p->to || !p->from || !fgets(p->about, sizeof p->about, p->from))
        return eg_fail(EG_ENOENT, "the peer '%s' does not answer: is python3-%s installed?",
                       name, name);
    bench_peer_name(p);
    return EG_OK;
}

eg_status bench_peer_measure(bench_peer *p, const char *model, int64_t batch, bool train,
                             double seconds, double *out)
{
    char line[1024];
    fprintf(p->to, "%s %lld %s %g\n", model, (long long)batch, train ? "train" : "eval",
            seconds);
    fflush(p->to);
    const char *key = "\"samples_per_s\":";
    if (!fgets(line, sizeof line, p->from))
        return eg_fail(EG_EIO, "the peer stopped answering");
    const char *at = strstr(line, key);
    if (!at)
        return eg_fail(EG_EFORMAT, "the peer answered: %s", line);
    *out = strtod(at + strlen(key), NULL);
    return EG_OK;
}

void bench_peer_close(bench_peer *p)
{
    if (p->to)
        fclose(p->to);
    if (p->from)
        fclose(p->from);
    if (p->pid > 0)
        waitpid(p->pid, NULL, 0);
}

/* option.h - what a verb is told, as one table: read, explained and completed from its rows.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A verb has a struct for its call and a table with a row per option and per argument. A row
 * says which field it fills, so that nothing else parses words:
 *
 *     typedef struct report_call {
 *         cli_texts runs;
 *         const char *out;
 *     } report_call;
 *
 *     static const cli_option report_options[] = {
 *         CLI_TEXTS("RUN", NULL, report_call, runs, 256, "folders of finished runs",
 *                   .what = "a run folder", .needed = true),
 *         CLI_FILE("--out", "FILE.html", report_call, out, "where the page goes"),
 *         CLI_END,
 *     };
 *
 * A name without dashes is an argument that is given by its place. The tables are constant.
 */
#ifndef EG_CLI_OPTION_H
#define EG_CLI_OPTION_H

#include <engram/component.h>

typedef enum cli_kind {
    CLI_IS_FLAG,   /* bool: true when it is given */
    CLI_IS_PICK,   /* int: becomes `value`; of several rows for one field the last one counts */
    CLI_IS_TEXT,   /* const char *, borrowed from the command line */
    CLI_IS_FILE,   /* the same, completed with files */
    CLI_IS_FOLDER, /* the same, completed with folders */
    CLI_IS_WORD,   /* the same, one of `words` */
    CLI_IS_MEMBER, /* the same, a member of `family` by its own name */
    CLI_IS_INT,    /* int64_t, from `least` to `most` */
    CLI_IS_REAL,   /* double, likewise */
    CLI_IS_SEED,   /* uint64_t, from 0 to 2^63 - 1 */
    CLI_IS_RANGES, /* cli_ranges: whole numbers to `most`, "A,B..C" */
    CLI_IS_TEXTS,  /* cli_texts: may be given up to `most` times */
    CLI_IS_TAKEN,  /* whatever `take` makes of it */
    CLI_IS_JOB,    /* const char *: its own name, the verb's first word; one row per job */
    CLI_IS_ALSO,   /* no option: the rows of `also` belong here */
    CLI_IS_TITLE,  /* no option: a line of help above those that follow */
} cli_kind;

/* What completion offers for a value, beside files and folders, which their kinds say. */
typedef enum cli_offer {
    CLI_OFFERS_NOTHING,
    CLI_OFFERS_FILES,
    CLI_OFFERS_FOLDERS,
    CLI_OFFERS_EXPERIMENTS, /* files, and names of those in experiments/ */
    CLI_OFFERS_SETTINGS,    /* "train.epochs=" */
    CLI_OFFERS_FAMILIES,
    CLI_OFFERS_NAMES, /* all that help explains */
} cli_offer;

typedef struct cli_option {
    const char *name;     /* "--only"; "RUN": given by its place */
    const char *argument; /* what help calls the value: "LABEL"; NULL: it takes none */
    cli_kind kind;
    int value;          /* of a pick */
    size_t offset;      /* of its field in the verb's struct */
    const char *help;   /* one sentence or two, without a full stop; NULL: not listed */
    double least, most; /* ends of the range of a number, both allowed */
    const char *what;   /* in errors, what it is: "a run folder"; of numbers: "seconds" */
    const char *with; /* goes only with this option, or with one of these jobs: "check show" */
    const char *without; /* excludes this option */
    const char *words;   /* of a word, and for completion: "threads|processes" */
    cli_offer offer;
    bool needed;                                       /* its absence is an error */
    const eg_family *family;                           /* for completion too */
    eg_status (*take)(void *field, const char *value); /* EG_EINVAL, EG_ENOENT: a wrong call */
    const struct cli_option *also;
} cli_option;

/* The values of an option that may be repeated, in the order given. */
enum { CLI_MOST_TEXTS = 256 };
typedef struct cli_texts {
    const char *list[CLI_MOST_TEXTS]; /* [n], borrowed */
    size_t n;
} cli_texts;

/* Whole numbers, none twice, in the order given. */
enum { CLI_MOST_NUMBERS = 100000 };
typedef struct cli_ranges {
    uint64_t *list; /* [n] */
    size_t n;
} cli_ranges;
void cli_ranges_free(cli_ranges *r);
/* Reads "0..4,7" of seeds. EG_EINVAL */
eg_status cli_ranges_read(const char *text, cli_ranges *out);

/* Rows. What comes after the field and the bounds is help, and then any other member by name. A
 * field of another type than its row wants does not compile. */
// clang-format off
#define CLI_FIELD(self, field, type) \
    (offsetof(self, field) + 0 * sizeof(_Generic(((self *)NULL)->field, type: 1)))
#define CLI_ROW(id, word, arg, self, field, type, ...) \
    {.name = word, .argument = arg, .kind = id, .offset = CLI_FIELD(self, field, type), \
     .help = __VA_ARGS__}
#define CLI_FLAG(word, self, field, ...) \
    CLI_ROW(CLI_IS_FLAG, word, NULL, self, field, bool, __VA_ARGS__)
#define CLI_PICK(word, self, field, type, number, ...) \
    CLI_ROW(CLI_IS_PICK, word, NULL, self, field, type, __VA_ARGS__, .value = number)
#define CLI_TEXT(word, arg, self, field, ...) \
    CLI_ROW(CLI_IS_TEXT, word, arg, self, field, const char *, __VA_ARGS__)
#define CLI_FILE(word, arg, self, field, ...) \
    CLI_ROW(CLI_IS_FILE, word, arg, self, field, const char *, __VA_ARGS__)
#define CLI_FOLDER(word, arg, self, field, ...) \
    CLI_ROW(CLI_IS_FOLDER, word, arg, self, field, const char *, __VA_ARGS__)
#define CLI_WORD(word, arg, self, field, list, ...) \
    CLI_ROW(CLI_IS_WORD, word, arg, self, field, const char *, __VA_ARGS__, .words = list)
#define CLI_MEMBER(word, arg, self, field, of, ...) \
    CLI_ROW(CLI_IS_MEMBER, word, arg, self, field, const char *, __VA_ARGS__, .family = &(of))
#define CLI_INT(word, arg, self, field, lo, hi, ...) \
    CLI_ROW(CLI_IS_INT, word, arg, self, field, int64_t, __VA_ARGS__, .least = lo, .most = hi)
#define CLI_REAL(word, arg, self, field, lo, hi, ...) \
    CLI_ROW(CLI_IS_REAL, word, arg, self, field, double, __VA_ARGS__, .least = lo, .most = hi)
#define CLI_SEED(word, arg, self, field, ...) \
    CLI_ROW(CLI_IS_SEED, word, arg, self, field, uint64_t, __VA_ARGS__)
#define CLI_RANGES(word, arg, self, field, hi, ...) \
    CLI_ROW(CLI_IS_RANGES, word, arg, self, field, cli_ranges, __VA_ARGS__, .most = hi)
#define CLI_TEXTS(word, arg, self, field, times, ...) \
    CLI_ROW(CLI_IS_TEXTS, word, arg, self, field, cli_texts, __VA_ARGS__, .most = times)
#define CLI_TAKEN(word, arg, self, field, type, function, ...) \
    CLI_ROW(CLI_IS_TAKEN, word, arg, self, field, type, __VA_ARGS__, .take = function)
#define CLI_JOB(word, self, field, ...) \
    CLI_ROW(CLI_IS_JOB, word, NULL, self, field, const char *, __VA_ARGS__)
#define CLI_ALSO(rows) {.name = "", .kind = CLI_IS_ALSO, .also = rows}
#define CLI_TITLE(text) {.name = "", .kind = CLI_IS_TITLE, .help = text}
#define CLI_END {.name = NULL}
// clang-format on

typedef struct eg_verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage;         /* its calls, one per line, without the program's name */
    const char *help;          /* one sentence */
    const char *details;       /* more sentences; NULL: none */
    const cli_option *options; /* CLI_END at the end */
} eg_verb;

extern const eg_verb *const eg_verbs[]; /* NULL at the end */

/* The verb with this name, or NULL. */
const eg_verb *cli_verb(const char *name);

/* Reads the words of a verb into the fields of its struct, which has its defaults already. 0,
 * or the exit code after saying what is wrong. */
int cli_parse(const eg_verb *verb, int argc, char **argv, void *self);

/* The rows that every verb has beside its own. */
extern const cli_option cli_common_rows[];

/* Calls `each` for every row of a verb and for the common ones; of a table, also for those of
 * tables within it. */
void cli_verb_walk(const eg_verb *verb, void (*each)(void *context, const cli_option *o),
                   void *context);
void cli_options_walk(const cli_option *rows, void (*each)(void *context, const cli_option *o),
                      void *context);

#endif

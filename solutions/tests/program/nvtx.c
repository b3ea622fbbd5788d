#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*Function)(void);
typedef struct {
    size_t size;
    int (*table_of)(int module, Function ***table, unsigned *size);
} Callbacks;

static FILE *list;
static int push(const char *name) { return fprintf(list, "push %s\n", name); }
static int pop(void) { fprintf(list, "pop\n"); return fflush(list); }

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
    const Callbacks *callbacks = export_table(1);
    Function **core;
    unsigned size;
    list = fopen(getenv("LIST_OF_RANGES"), "w");
    if (!list || !callbacks->table_of(1, &core, &size) || size <= 11) return 0;
    *core[9] = (Function)push;
    *core[11] = (Function)pop;
    return 1;
}

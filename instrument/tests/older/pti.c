/*
 * What a plugin links of perf-instrument 1.0; see pti.h. Never change this file.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#undef PTI_ENABLED
#define PTI_ENABLED 1
#include "pti.h"

#include <string.h>

const struct pti_service_v1 *pti_service;

int pti_register(const struct pti_service_v1 *table) {
    static struct pti_service_v1 known;
    if (table->version != PTI_VERSION || table->size < sizeof known)
        return EINVAL;
    if (pti_service != NULL)
        return EEXIST;
    memcpy(&known, table, sizeof known);
    __atomic_store_n(&pti_service, &known, __ATOMIC_RELEASE);
    return 0;
}

uint32_t pti_find_number(const struct pti_service_v1 *service, struct pti_instrument *instrument) {
    uint32_t number = service->register_instrument(instrument->kind, instrument->name, strlen(instrument->name));
    if (number == 0)
        number = PTI_OFF;
    __atomic_store_n(&instrument->number, number, __ATOMIC_RELAXED);
    return number;
}

/* The filter that the doorman stands under, made by tools/compile-doorman-filter.c
 * when cloche is built. */
#ifndef CLOCHE_DOORMAN_OWN_FILTER_H
#define CLOCHE_DOORMAN_OWN_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

extern const struct sock_filter own_filter[];
extern const size_t own_filter_length;

#endif

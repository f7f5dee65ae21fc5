/* Hosts, addresses and host patterns: whatever is accepted is canonical and is
 * read by everybody in the same way. */
#include "policy/host.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_refusal(const struct error *err)
{
    require(err->text[0] != '\0');
    for (const char *at = err->text; *at; at++)
        require((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static bool same_host(const struct host *a, const struct host *b)
{
    return a->is_address == b->is_address && a->name_length == b->name_length && strcmp(a->name, b->name) == 0 &&
           a->address.v6 == b->address.v6 && memcmp(a->address.bytes, b->address.bytes, sizeof a->address.bytes) == 0;
}

static void check_name(const struct host *host)
{
    struct in_addr ignored;

    require(strspn(host->name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == host->name_length);
    require(host->name[0] != '.' && host->name[host->name_length - 1] != '.');
    require(strstr(host->name, "..") == NULL);
    /* The lax reader of the C library must not see an address in a name. */
    require(inet_aton(host->name, &ignored) == 0);
}

static void check_address(const struct host *host)
{
    uint8_t bytes[16] = {0};
    struct address address;
    struct error err = {""};

    require(inet_pton(host->address.v6 ? AF_INET6 : AF_INET, host->name, bytes) == 1);
    require(memcmp(bytes, host->address.bytes, sizeof bytes) == 0);
    require(address_parse(slice_of(host->name), &address, &err));
    require(address.v6 == host->address.v6 && memcmp(address.bytes, bytes, sizeof bytes) == 0);
}

static void check_host(const struct host *host)
{
    struct host again;
    struct host_pattern pattern;
    struct error err = {""};

    require(host->name_length > 0 && host->name_length <= HOST_NAME_MAX_LENGTH);
    require(strlen(host->name) == host->name_length);
    if (host->is_address)
        check_address(host);
    else
        check_name(host);
    require(host_parse(slice_of(host->name), &again, &err));
    require(same_host(host, &again));
    require(host_pattern_parse(slice_of(host->name), &pattern, &err));
    require(pattern.kind == (host->is_address ? HOST_PATTERN_ADDRESS : HOST_PATTERN_NAME));
    require(host_pattern_matches(&pattern, host, 0) && host_pattern_matches(&pattern, host, 443));
}

static void check_subdomains(const struct host_pattern *pattern)
{
    char text[HOST_NAME_MAX_LENGTH + 3];
    struct host below;
    struct error err = {""};

    require(!host_pattern_matches(pattern, &pattern->host, pattern->port));
    snprintf(text, sizeof text, "x.%s", pattern->host.name);
    if (strlen(text) > HOST_NAME_MAX_LENGTH)
        return;
    require(host_parse(slice_of(text), &below, &err));
    require(host_pattern_matches(pattern, &below, pattern->port));
}

static void check_pattern(const struct host_pattern *pattern)
{
    char printed[300];
    char reprinted[300];
    struct host_pattern again;
    struct error err = {""};

    host_pattern_print(pattern, printed);
    require(host_pattern_parse(slice_of(printed), &again, &err));
    require(pattern->kind == again.kind && pattern->port == again.port);
    require(pattern->prefix_length == again.prefix_length);
    require(same_host(&pattern->host, &again.host));
    host_pattern_print(&again, reprinted);
    require(strcmp(printed, reprinted) == 0);

    if (pattern->kind == HOST_PATTERN_SUBDOMAINS)
        check_subdomains(pattern);
    else
        require(host_pattern_matches(pattern, &pattern->host, pattern->port));
    if (pattern->port != 0)
        require(!host_pattern_matches(pattern, &pattern->host, (uint16_t)(pattern->port ^ 1 ? pattern->port ^ 1 : 2)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct error err = {""};
    struct host host;
    struct host with_port;
    struct host_pattern pattern;
    struct address address;
    uint16_t port = 0;

    bool is_host = host_parse(text, &host, &err);
    if (is_host)
        check_host(&host);
    else
        check_refusal(&err);

    bool is_host_port = host_port_parse(text, &with_port, &port, &err);
    if (is_host_port)
        check_host(&with_port);
    else
        check_refusal(&err);
    require(!is_host || (is_host_port && port == 0 && same_host(&host, &with_port)));

    bool is_pattern = host_pattern_parse(text, &pattern, &err);
    if (is_pattern)
        check_pattern(&pattern);
    else
        check_refusal(&err);
    /* Whatever can be asked for can be named in a policy, and then matches. */
    require(!is_host_port || (is_pattern && host_pattern_matches(&pattern, &with_port, port)));

    if (address_parse(text, &address, &err))
        require(is_host && host.is_address && memcmp(address.bytes, host.address.bytes, sizeof address.bytes) == 0);
    else
        check_refusal(&err);
    return 0;
}

/*
 * Sends tensors to a model as a stream (TSTREAM/1): shapes are agreed on once, then only bytes go over the wire.
 *
 *   struct tstream stream;
 *   if (tstream_open(&stream, "127.0.0.1:8003", "scalar", 64)) { puts(stream.error); return 1; }
 *   float x[3] = {1, 2, 3}, score;
 *   struct tstream_result result;
 *   tstream_send(&stream, x);
 *   if (tstream_receive(&stream, &result, &score) || result.status) puts(stream.error);
 *   tstream_close(&stream);
 *
 * One header for POSIX systems with little-endian processors, C99 or C++. Functions return 0, or -1 with the reason in
 * `error`. A stream belongs to one thread. docs/tstream.md has the protocol; checksums, deadlines and TLS are not spoken here.
 */
#ifndef TSTREAM_H
#define TSTREAM_H

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TSTREAM_MOST_TENSORS 64
#define TSTREAM_MOST_DIMS 8
#define TSTREAM_MOST_REPLY (1u << 17)
#define TSTREAM_READ_BYTES (1u << 16)

enum tstream_kind { TSTREAM_RESULT, TSTREAM_ACCEPTED, TSTREAM_GENERATION, TSTREAM_DRAINING, TSTREAM_WINDOW, TSTREAM_CLOSED };

/* A tensor of each message or result; `dtype` is a number of docs/tstream.md, `offset` where its bytes begin in one. */
struct tstream_tensor {
    char name[128];
    unsigned dtype, rank;
    uint32_t shape[TSTREAM_MOST_DIMS];
    uint32_t offset;
};

/* Of the message with this number; `status` is gRPC's, and not 0 when there are no outputs. */
struct tstream_result {
    uint32_t sequence;
    unsigned status;
};

struct tstream {
    int socket;
    uint32_t window;         /* messages that may be under way */
    uint32_t under_way;      /* sent, and their result has not been received */
    uint32_t sent;           /* messages, ever */
    int draining;            /* no message is taken any more; connect again, perhaps elsewhere */
    uint32_t request_bytes;  /* of each message's tensors, in order, each from its offset on */
    uint32_t response_bytes;
    uint64_t generation, digest;
    unsigned inputs, outputs;
    struct tstream_tensor tensors[TSTREAM_MOST_TENSORS]; /* inputs, then outputs */
    char error[1200];
    unsigned char *read; /* what was read from the socket, from `begin` to `end` */
    uint32_t begin, end;
};

static int tstream_fail(struct tstream *s, const char *what, const char *why) {
    snprintf(s->error, sizeof s->error, "%s%s%s", what, *why ? ": " : "", why);
    return -1;
}

static int tstream_write(struct tstream *s, const void *bytes, size_t count) {
    const char *at = (const char *)bytes;
    while (count > 0) {
        ssize_t done = send(s->socket, at, count, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return tstream_fail(s, "cannot send", strerror(errno));
        at += done;
        count -= (size_t)done;
    }
    return 0;
}

/* Reads much at a time where little is wanted: results are small, and a call of the system is not. */
static int tstream_read(struct tstream *s, void *bytes, size_t count) {
    char *at = (char *)bytes;
    while (count > 0) {
        if (s->begin == s->end) {
            int direct = count >= TSTREAM_READ_BYTES;
            ssize_t done = recv(s->socket, direct ? (void *)at : (void *)s->read, direct ? count : TSTREAM_READ_BYTES, 0);
            if (done < 0 && errno == EINTR) continue;
            if (done < 0) return tstream_fail(s, "cannot receive", strerror(errno));
            if (done == 0) return tstream_fail(s, "the server has ended the connection", "");
            if (direct) {
                at += done;
                count -= (size_t)done;
                continue;
            }
            s->begin = 0;
            s->end = (uint32_t)done;
        }
        size_t piece = s->end - s->begin < count ? s->end - s->begin : count;
        memcpy(at, s->read + s->begin, piece);
        s->begin += (uint32_t)piece;
        at += piece;
        count -= piece;
    }
    return 0;
}

static uint32_t tstream_u32(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

static uint16_t tstream_u16(const unsigned char *at) {
    uint16_t value;
    memcpy(&value, at, 2);
    return value;
}

/* "host:port", "[address]:port", or a path with a slash. */
static int tstream_connect(struct tstream *s, const char *address) {
    if (strchr(address, '/')) {
        struct sockaddr_un local;
        memset(&local, 0, sizeof local);
        local.sun_family = AF_UNIX;
        if (strlen(address) >= sizeof local.sun_path) return tstream_fail(s, "the path is too long", address);
        strcpy(local.sun_path, address);
        s->socket = socket(AF_UNIX, SOCK_STREAM, 0);
        if (s->socket < 0 || connect(s->socket, (struct sockaddr *)&local, sizeof local))
            return tstream_fail(s, address, strerror(errno));
        return 0;
    }
    char host[256];
    const char *port = strrchr(address, ':');
    if (!port || port == address || (size_t)(port - address) >= sizeof host)
        return tstream_fail(s, "neither host:port nor a path with a slash", address);
    int bracket = address[0] == '[' && port[-1] == ']';
    size_t length = (size_t)(port - address) - (bracket ? 2 : 0);
    memcpy(host, address + (bracket ? 1 : 0), length);
    host[length] = 0;
    struct addrinfo hints, *found = NULL, *each;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    int failed = getaddrinfo(host, port + 1, &hints, &found);
    if (failed) return tstream_fail(s, address, gai_strerror(failed));
    for (each = found; each; each = each->ai_next) {
        s->socket = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
        if (s->socket >= 0 && connect(s->socket, each->ai_addr, each->ai_addrlen) == 0) break;
        if (s->socket >= 0) close(s->socket);
        s->socket = -1;
    }
    freeaddrinfo(found);
    if (s->socket < 0) return tstream_fail(s, address, strerror(errno));
    int on = 1;
    setsockopt(s->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return 0;
}

static int tstream_say_hello(struct tstream *s, const char *model, const char *token, uint32_t rows) {
    unsigned char hello[4096];
    size_t name = strlen(model), secret = strlen(token), length = 48 + name + secret;
    length += (8 - length % 8) % 8;
    if (name > 1024 || secret > 2048) return tstream_fail(s, "the model's name or the token is too long", "");
    memset(hello, 0, sizeof hello);
    memcpy(hello, "TSRM\1\1", 6);
    uint32_t words[3] = {(uint32_t)length, s->window, rows};
    uint16_t texts[4] = {(uint16_t)name, 0, 0, (uint16_t)secret};
    memcpy(hello + 8, words, sizeof words);
    memcpy(hello + 32, texts, sizeof texts);
    memcpy(hello + 48, model, name);
    memcpy(hello + 48 + name, token, secret);
    return tstream_write(s, hello, length);
}

static int tstream_read_tensors(struct tstream *s, const unsigned char *block, size_t length) {
    size_t at = 0;
    for (unsigned i = 0; i < s->inputs + s->outputs; i++) {
        struct tstream_tensor *tensor = &s->tensors[i];
        if (length - at < 8) return tstream_fail(s, "the server's spec is too short", "");
        tensor->dtype = block[at];
        tensor->rank = block[at + 1];
        size_t name = tstream_u16(block + at + 2);
        tensor->offset = tstream_u32(block + at + 4);
        at += 8;
        if (tensor->rank > TSTREAM_MOST_DIMS || name >= sizeof tensor->name)
            return tstream_fail(s, "a tensor has too many dimensions, or too long a name", "");
        if (length - at < 4 * tensor->rank + name) return tstream_fail(s, "the server's spec is too short", "");
        memcpy(tensor->shape, block + at, 4 * tensor->rank);
        at += 4 * tensor->rank;
        memcpy(tensor->name, block + at, name);
        tensor->name[name] = 0;
        at += name;
        at += (4 - at % 4) % 4;
        if (at > length) return tstream_fail(s, "the server's spec is too short", "");
    }
    return 0;
}

static int tstream_read_reply(struct tstream *s) {
    static const char *const names[] = {"fine", "no such model", "not ready", "other tensors", "no fixed sizes",
                                        "not allowed", "no room", "bad hello"};
    unsigned char head[48];
    if (tstream_read(s, head, sizeof head)) return -1;
    if (memcmp(head, "TSRM", 4)) return tstream_fail(s, "the server does not speak TSTREAM", "");
    uint32_t length = tstream_u32(head + 8), text = tstream_u32(head + 44);
    s->window = tstream_u32(head + 12);
    s->request_bytes = tstream_u32(head + 16);
    s->response_bytes = tstream_u32(head + 20);
    memcpy(&s->generation, head + 24, 8);
    memcpy(&s->digest, head + 32, 8);
    s->inputs = tstream_u16(head + 40);
    s->outputs = tstream_u16(head + 42);
    if (length > TSTREAM_MOST_REPLY || length < 48 || text > length - 48 ||
        s->inputs + s->outputs > TSTREAM_MOST_TENSORS)
        return tstream_fail(s, "the server's reply is too long, or makes no sense", "");
    unsigned char *rest = (unsigned char *)malloc(length - 48 + 1);
    if (!rest) return tstream_fail(s, "no memory", "");
    int failed = tstream_read(s, rest, length - 48);
    rest[length - 48] = 0;
    if (!failed && head[5])
        failed = tstream_fail(s, head[5] < 8 ? names[head[5]] : "refused", (char *)rest + length - 48 - text);
    if (!failed) failed = tstream_read_tensors(s, rest, length - 48 - text);
    free(rest);
    return failed;
}

static void tstream_close(struct tstream *s) {
    if (s->socket >= 0) close(s->socket);
    free(s->read);
    s->socket = -1;
    s->read = NULL;
}

/* With `rows` in each message, and a token, which may be "". */
static int tstream_open_with(struct tstream *s, const char *address, const char *model, uint32_t window, uint32_t rows,
                             const char *token) {
    memset(s, 0, sizeof *s);
    s->socket = -1;
    s->window = window;
    s->read = (unsigned char *)malloc(TSTREAM_READ_BYTES);
    int failed = s->read ? 0 : tstream_fail(s, "no memory", "");
    if (failed || tstream_connect(s, address) || tstream_say_hello(s, model, token, rows) || tstream_read_reply(s)) {
        tstream_close(s);
        return -1;
    }
    return 0;
}

static int tstream_open(struct tstream *s, const char *address, const char *model, uint32_t window) {
    return tstream_open_with(s, address, model, window, 1, "");
}

/* Sends a message of `request_bytes`. The window must have room: receive first where under_way has reached it. */
static int tstream_send(struct tstream *s, const void *message) {
    if (s->draining) return tstream_fail(s, "the server takes no more messages", "");
    if (s->under_way >= s->window) return tstream_fail(s, "the window is full", "receive a result first");
    if (tstream_write(s, message, s->request_bytes)) return -1;
    s->sent++;
    s->under_way++;
    return 0;
}

static int tstream_read_text(struct tstream *s) {
    unsigned char size[4];
    if (tstream_read(s, size, 4)) return -1;
    uint32_t length = tstream_u32(size);
    if (length >= sizeof s->error) return tstream_fail(s, "the server's text is too long", "");
    if (tstream_read(s, s->error, length)) return -1;
    s->error[length] = 0;
    return 0;
}

static int tstream_not_taken(struct tstream *s, uint32_t last) {
    uint32_t count = s->sent - 1 - last;
    s->draining = 1;
    if (count > s->under_way) return tstream_fail(s, "the server's last message is none that was sent", "");
    s->under_way -= count;
    return 0;
}

/* Receives the next result: `response_bytes` of outputs, or a status other than 0 with its reason in `error`. */
static int tstream_receive(struct tstream *s, struct tstream_result *result, void *outputs) {
    memset(result, 0, sizeof *result);
    for (;;) {
        unsigned char head[8], skipped[16];
        if (s->under_way == 0) return s->draining ? -1 : tstream_fail(s, "no message is under way", "");
        if (tstream_read(s, head, sizeof head)) return -1;
        result->sequence = tstream_u32(head);
        result->status = head[4];
        switch (head[5]) {
            case TSTREAM_RESULT:
                s->under_way--;
                return result->status ? tstream_read_text(s) : tstream_read(s, outputs, s->response_bytes);
            case TSTREAM_ACCEPTED:
                break;
            case TSTREAM_GENERATION:
                if (tstream_read(s, skipped, 16)) return -1;
                memcpy(&s->generation, skipped, 8);
                break;
            case TSTREAM_WINDOW:
                if (tstream_read(s, skipped, 4)) return -1;
                s->window = tstream_u32(skipped);
                break;
            case TSTREAM_DRAINING:
                if (tstream_not_taken(s, result->sequence)) return -1;
                tstream_fail(s, "the server takes no more messages", "");
                break;
            case TSTREAM_CLOSED:
                if (tstream_not_taken(s, result->sequence) || tstream_read_text(s)) return -1;
                break;
            default:
                return tstream_fail(s, "the server has sent a record of no known kind", "");
        }
    }
}

#endif

/* Sends COUNT messages of the sample model `scalar` with WINDOW under way, and prints the sum of the scores:
 *
 *   cc -O2 -o example example.c && ./example localhost:8003 1000 64
 */
#include "tstream.h"

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: example ADDRESS COUNT WINDOW\n");
        return 2;
    }
    struct tstream stream;
    if (tstream_open(&stream, argv[1], "scalar", (uint32_t)atoi(argv[3]))) {
        fprintf(stderr, "%s\n", stream.error);
        return 1;
    }
    double sum = 0;
    uint32_t count = (uint32_t)atoi(argv[2]), received = 0;
    while (received < count) {
        while (stream.sent < count && stream.under_way < stream.window) {
            float x[3] = {1, 2, (float)stream.sent};
            if (tstream_send(&stream, x)) break;
        }
        struct tstream_result result = {0, 0};
        float score;
        if (tstream_receive(&stream, &result, &score) || result.status) {
            fprintf(stderr, "message %u: %s\n", result.sequence, stream.error);
            tstream_close(&stream);
            return 1;
        }
        sum += score;
        received++;
    }
    printf("%.1f\n", sum);
    tstream_close(&stream);
    return 0;
}

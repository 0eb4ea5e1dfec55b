package dev.roundhouse.gateway.rest;

import dev.roundhouse.transport.http1.Reply;
import java.util.Map;

/**
 * A request for inference, as workers are asked.
 *
 * @param caller whose it is, as a worker is told
 */
record ProxiedRequest(
    String target, Iterable<Map.Entry<String, String>> headers, Reply reply, int caller) {
  boolean isGone() {
    return reply.isGone();
  }
}

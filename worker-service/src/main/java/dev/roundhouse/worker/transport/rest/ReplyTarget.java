package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.transport.http1.Reply;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/** A reply of the worker's own HTTP server. */
record ReplyTarget(Reply reply) implements AnswerTarget {
  @Override
  public void header(String name, String value) {
    reply.header(name, value);
  }

  @Override
  public void length(long bytes) {
    reply.length(bytes);
  }

  @Override
  public OutputStream body() {
    return reply.body();
  }

  @Override
  public void write(ByteBuffer bytes) throws IOException {
    reply.lend(bytes);
  }
}

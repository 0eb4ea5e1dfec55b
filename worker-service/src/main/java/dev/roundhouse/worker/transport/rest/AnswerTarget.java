package dev.roundhouse.worker.transport.rest;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/** Where an answer is written, by whatever server. For one thread. */
interface AnswerTarget {

  /** Before the body. */
  void header(String name, String value);

  /** Of the whole body, before it. */
  void length(long bytes);

  OutputStream body() throws IOException;

  /**
   * The next part of the body.
   *
   * @param bytes from position to limit, unchanged until the answer has been sent
   */
  void write(ByteBuffer bytes) throws IOException;
}

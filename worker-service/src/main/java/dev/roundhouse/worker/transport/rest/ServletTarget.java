package dev.roundhouse.worker.transport.rest;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/** A servlet's response. */
record ServletTarget(HttpServletResponse response) implements AnswerTarget {
  @Override
  public void header(String name, String value) {
    response.setHeader(name, value);
  }

  @Override
  public void length(long bytes) {
    response.setContentLengthLong(bytes);
  }

  @Override
  public OutputStream body() throws IOException {
    return response.getOutputStream();
  }

  @Override
  public void write(ByteBuffer bytes) throws IOException {
    response.getOutputStream().write(bytes);
  }
}

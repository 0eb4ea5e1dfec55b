package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import java.util.Map;

/** A request taken as it arrives, and the means to answer it. For its event loop. */
public interface StreamedRequest {

  /** Must not be changed. */
  HttpRequest head();

  /** Length of the body; negative when unknown. */
  long length();

  /** Counts all that the server keeps for the client's connection. */
  ConnectionMemory memory();

  /** The loop on which the handler is called and may call. */
  EventLoop loop();

  /**
   * Resumes or pauses the body; one part that was already read may still arrive after a pause.
   * Starts resumed.
   */
  void read(boolean wanted);

  /** False while the client does not read its answer; what is written then is kept. */
  boolean isWritable();

  /**
   * Begins the answer.
   *
   * @param length of its body; negative when unknown
   * @param headers without those of the connection and the length, which are added
   */
  void answer(int code, long length, HttpHeaders headers);

  /**
   * @param data of the answer's body; takes ownership
   */
  void write(ByteBuf data);

  /** Sends what was written. */
  void flush();

  /**
   * Ends the answer.
   *
   * @param left run when its last byte has been sent, or never will be
   */
  void end(Runnable left);

  default void refuse(int code, String text) {
    refuse(code, text, Map.of());
  }

  /**
   * Sends the reason why there is no other answer. Before {@link #answer}.
   *
   * @param headers besides those of every refusal
   */
  void refuse(int code, String text, Map<String, String> headers);

  /** Closes the connection, so that a part is not taken for the whole. */
  void abort();
}

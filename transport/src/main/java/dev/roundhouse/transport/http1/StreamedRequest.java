package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;

/** A request that is taken as it comes, and the way of its answer. For its event loop. */
public interface StreamedRequest {

  /** Not to be changed. */
  HttpRequest head();

  /** Of the body; below 0 when it is not known. */
  long length();

  /** Where all that the client's connection makes the server keep is counted. */
  ConnectionMemory memory();

  /** Whose thread calls, and may call. */
  EventLoop loop();

  /**
   * Has more of the body come, or not: of what has been read already one part may still come. At
   * first it comes.
   */
  void read(boolean wanted);

  /** False while the client does not take what it is answered; what is written then is kept. */
  boolean isWritable();

  /**
   * Begins the answer.
   *
   * @param length of its body; below 0 when it is not known
   * @param headers without those that concern the connection or the length, which are added
   */
  void answer(int code, long length, HttpHeaders headers);

  /**
   * @param data of the answer's body; taken
   */
  void write(ByteBuf data);

  /** Sends what was written. */
  void flush();

  /**
   * Ends the answer.
   *
   * @param left run when its last byte has left, or never will
   */
  void end(Runnable left);

  /** Answers that there is no other answer, and why. Before {@link #answer}. */
  void refuse(int code, String text);

  /** Closes the connection: nobody should take a part for the whole. */
  void abort();
}

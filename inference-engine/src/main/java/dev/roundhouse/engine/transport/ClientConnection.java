package dev.roundhouse.engine.transport;

import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Submission;

/**
 * A client's connection as the server counts it: who calls, what it makes the server keep, and its
 * requests. Thread-safe; nothing here blocks.
 */
public interface ClientConnection extends AutoCloseable {

  /**
   * Holds a client against the operator's rules of access. For one or many requests: a client whose
   * token may be another with each request is asked about each time.
   *
   * @throws ClientRefusedException UNAUTHENTICATED, DENIED, or UNAVAILABLE when who it is cannot be
   *     found out just now
   */
  Caller admit(CallerUse use, CallerCredentials shown) throws ClientRefusedException;

  /**
   * Hands a request to the engine. What the engine refuses is told to the sink, as every other end.
   *
   * <p>The sink is called by a thread that the server has for this transport, one call at a time
   * for all of its requests, in the order in which they ended: it may take a lock or hand the
   * answer over, but whatever it waits for, the transport's other answers wait for too. What it
   * throws is logged, and its answer closed.
   *
   * <p>The inputs' memory is borrowed until {@link AnswerSink#onEnd}. Their size is counted by the
   * engine from here on: what was taken for them by {@link #take} is given back before this.
   *
   * @param caller admitted for {@link CallerUse#INFERENCE} by this connection
   * @return to cancel the request by, with effect at once when it waits
   * @throws ClientRefusedException DENIED when the caller may not use the model, QUOTA when it has
   *     used up what it may; UNAVAILABLE when the connection is closed. The sink is not called then
   * @throws IllegalArgumentException when the caller was admitted elsewhere, or for something else
   */
  Submission submit(Caller caller, TransportRequest request, AnswerSink sink)
      throws ClientRefusedException;

  /**
   * Counts memory that the client makes the transport keep, before it is allocated: a request while
   * it arrives, an answer that was copied and is not sent yet.
   *
   * @throws ClientRefusedException NO_ROOM, with the numbers and what to do, or UNAVAILABLE when
   *     the connection is closed; nothing is counted then
   * @throws IllegalArgumentException when it is negative
   */
  void take(long bytes) throws ClientRefusedException;

  /**
   * Counts memory as free again.
   *
   * @throws IllegalArgumentException when it is negative
   * @throws IllegalStateException when that is more than was taken
   */
  void giveBack(long bytes);

  /**
   * The connection has ended: requests that have not are cancelled, and what is still taken is
   * given back. Their sinks are still told. Harmless when repeated.
   */
  @Override
  void close();
}

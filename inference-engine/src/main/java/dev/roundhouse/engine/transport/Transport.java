package dev.roundhouse.engine.transport;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * A way in: something that listens, makes requests of what it hears, and sends answers back. It is
 * started once and stopped once. The server calls these methods one at a time, on a thread of its
 * own; {@link #name} and {@link #ports} on any.
 */
public interface Transport {

  /** Short: lower-case letters, digits and {@code -}, such as {@code grpc}. Always the same. */
  String name();

  /**
   * Binds its ports and begins to listen, on threads of its own. Models may still be loading.
   *
   * @throws IOException when it cannot, with the setting, its value and the reason in the message;
   *     the server then does not start. What was bound already is closed before that
   */
  void start() throws IOException;

  /** The ports that are bound; none before {@link #start}, and of what listens elsewhere. */
  List<Integer> ports();

  /**
   * Takes no further requests, and tells clients so where the protocol can; what was taken is still
   * answered. Does not wait. Harmless when repeated, before {@link #start} and after {@link #stop}.
   */
  void drain();

  /**
   * Drains, waits until what was taken is answered and sent, and then closes all it has: sockets,
   * threads, and every {@link ClientConnection}. What is not answered within the budget is given
   * up: its requests are cancelled, its connections closed.
   *
   * <p>The server interrupts it when it takes much longer.
   *
   * @param budget time to wait; zero for none
   * @throws InterruptedException when interrupted; everything is closed all the same
   */
  void stop(Duration budget) throws InterruptedException;
}

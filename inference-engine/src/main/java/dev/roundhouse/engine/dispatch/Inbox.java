package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.queue.Ingress;
import dev.roundhouse.engine.queue.QueuedRequest;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What is on its way to the dispatch loop: any thread puts in, the loop takes out.
 *
 * @param retirements without a bound, for none may be lost; there are no more of them than models
 */
record Inbox(
    Ingress<QueuedRequest> requests, Ingress<Command> commands, Queue<Command.Retire> retirements) {
  static final int MAX_COMMANDS = 1024;

  Inbox(int maxHandOver) {
    this(new Ingress<>(maxHandOver), new Ingress<>(MAX_COMMANDS), new ConcurrentLinkedQueue<>());
  }

  boolean isEmpty() {
    return requests.isEmpty() && commands.isEmpty() && retirements.isEmpty();
  }
}

package dev.roundhouse.platform.operators;

import java.net.InetSocketAddress;

/**
 * A process that another one answers for.
 *
 * @param label that its series get: {@value #WORKER} or {@value #PROCESS}
 * @param name the label's value
 * @param address of its port for operators; a host name is resolved when it is asked
 */
public record OperatorsPort(String label, String name, InetSocketAddress address) {
  private static final String WORKER = "worker";
  private static final String PROCESS = "process";

  public static OperatorsPort worker(String name, InetSocketAddress address) {
    return new OperatorsPort(WORKER, name, address);
  }

  /** A process that is no worker, such as a node's gateway. */
  public static OperatorsPort process(String name, InetSocketAddress address) {
    return new OperatorsPort(PROCESS, name, address);
  }

  boolean isWorker() {
    return label.equals(WORKER);
  }
}

package dev.roundhouse.client;

import io.grpc.ManagedChannel;
import java.util.concurrent.atomic.AtomicInteger;

/** One server: its address, a connection to it, and how many calls it has of this client. */
final class Target {
  final String address;
  final ManagedChannel channel;
  final AtomicInteger open = new AtomicInteger();

  Target(String address, ManagedChannel channel) {
    this.address = address;
    this.channel = channel;
  }
}

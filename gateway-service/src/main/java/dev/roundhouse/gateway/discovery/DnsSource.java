package dev.roundhouse.gateway.discovery;

import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.gateway.fleet.WorkerSource;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** The addresses of a name, such as those of a headless service: each is a worker. */
public final class DnsSource implements WorkerSource {
  private final String name;
  private final int grpcPort;
  private final int httpPort;
  private final int metricsPort;

  public DnsSource(String name, int grpcPort, int httpPort, int metricsPort) {
    this.name = name;
    this.grpcPort = grpcPort;
    this.httpPort = httpPort;
    this.metricsPort = metricsPort;
  }

  @Override
  public List<WorkerAddress> workers() throws IOException {
    InetAddress[] found;
    try {
      found = InetAddress.getAllByName(name);
    } catch (UnknownHostException e) {
      throw new IOException("no address is known of '" + name + "' (discovery.dns)", e);
    }
    return Arrays.stream(found)
        .map(InetAddress::getHostAddress)
        .distinct()
        .sorted(Comparator.naturalOrder())
        .map(
            address ->
                new WorkerAddress(
                    address,
                    InetSocketAddress.createUnresolved(address, grpcPort),
                    InetSocketAddress.createUnresolved(address, httpPort),
                    InetSocketAddress.createUnresolved(address, metricsPort)))
        .toList();
  }
}

package dev.roundhouse.node.plan;

import dev.roundhouse.node.config.PortProperties;
import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The port of each process, chosen and test-bound before anything starts.
 *
 * @param open of the gateway, or of the only worker; empty for several workers without a gateway
 * @param workers one for each; those of the only worker are the open ones
 * @param node of the supervisor itself
 */
public record PortPlan(Optional<Ports> open, List<Ports> workers, int node) {

  /**
   * @param workers how many
   * @param gateway whether one stands before them, and they listen on loopback only
   * @throws StartRefusedException naming the ports that collide, are in use or do not exist
   */
  public static PortPlan of(PortProperties settings, int workers, boolean gateway) {
    return new Draft(settings).plan(workers, gateway);
  }

  /** Takes ports one by one, and holds them all until the last is taken. */
  private static final class Draft {
    private static final String KEY = "roundhouse.node.ports.";

    private final PortProperties settings;
    private final FreePorts free = FreePorts.ofThisMachine();
    private final Map<Integer, String> taken = new LinkedHashMap<>();
    private final List<ServerSocket> held = new ArrayList<>();

    Draft(PortProperties settings) {
      this.settings = settings;
    }

    PortPlan plan(int workers, boolean gateway) {
      try {
        InetAddress open =
            settings.address().isEmpty()
                ? new InetSocketAddress(0).getAddress()
                : address(settings.address());
        InetAddress ofWorkers =
            gateway ? InetAddress.getByAddress(new byte[] {127, 0, 0, 1}) : open;
        boolean front = gateway || workers == 1;
        // configured numbers first, so that none of them is taken for a free port
        settle(open, front, workers, ofWorkers, false);
        return settle(open, front, workers, ofWorkers, true);
      } catch (UnknownHostException impossible) {
        throw new IllegalStateException(impossible);
      } finally {
        held.forEach(Draft::release);
      }
    }

    private PortPlan settle(
        InetAddress open, boolean hasFront, int workers, InetAddress ofWorkers, boolean all) {
      Optional<Ports> front = hasFront ? Optional.of(front(open, all)) : Optional.empty();
      int node = take(settings.node(), KEY + "node", open, all);
      List<Ports> each = new ArrayList<>();
      if (workers == 1) {
        each.add(front.orElseThrow());
      } else {
        for (int i = 0; i < workers; i++) {
          int first = settings.workerBase() == 0 ? 0 : settings.workerBase() + 3 * i;
          String who = "worker" + i + " (" + KEY + "worker-base)";
          each.add(
              new Ports(
                  take(first, who, ofWorkers, all),
                  take(first == 0 ? 0 : first + 1, who, ofWorkers, all),
                  take(first == 0 ? 0 : first + 2, who, ofWorkers, all)));
        }
      }
      return new PortPlan(front, List.copyOf(each), node);
    }

    private Ports front(InetAddress open, boolean all) {
      return new Ports(
          take(settings.grpc(), KEY + "grpc", open, all),
          take(settings.http(), KEY + "http", open, all),
          take(settings.metrics(), KEY + "metrics", open, all));
    }

    /** The first round takes configured numbers, the second any that are free. */
    private int take(int port, String who, InetAddress address, boolean anyFree) {
      if ((port == 0) != anyFree) {
        return port;
      }
      if (port > 65535) {
        throw new StartRefusedException(
            who + " would listen on port " + port + ", and ports end at 65535.",
            "Set " + KEY + "worker-base to a smaller number, or to 0 for any free ports.");
      }
      String other = port == 0 ? null : taken.putIfAbsent(port, who);
      if (other != null) {
        throw new StartRefusedException(
            "port " + port + " is given to both " + other + " and " + who + ".",
            "Move one of them.");
      }
      try {
        ServerSocket socket = port == 0 ? free.listen(address) : FreePorts.listen(address, port);
        held.add(socket);
        return socket.getLocalPort();
      } catch (IOException e) {
        throw new StartRefusedException(
            "port %d of %s cannot be listened on at %s: %s."
                .formatted(port, who, address.getHostAddress(), e.getMessage()),
            "Stop what listens there, or choose another port.");
      }
    }

    private static void release(ServerSocket socket) {
      try {
        socket.close();
      } catch (IOException e) {
        // it was only held, not used
      }
    }

    private static InetAddress address(String text) {
      try {
        return InetAddress.getByName(text);
      } catch (UnknownHostException e) {
        throw new StartRefusedException(
            KEY + "address is '" + text + "', which is no address of this machine.",
            "Write an address such as 127.0.0.1, or leave it empty for every address.");
      }
    }
  }
}

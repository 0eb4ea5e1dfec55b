package dev.roundhouse.platform.access;

import io.grpc.TlsServerCredentials;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementServerProperties;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.autoconfigure.ServerProperties;

/**
 * The ports of a process, as far as access depends on them.
 *
 * @param ports in the order in which people think of them
 */
public record Doors(List<Door> ports) {
  public Doors {
    ports = List.copyOf(ports);
  }

  /** Boot's settings of them. */
  public static Doors of(
      GrpcServerProperties grpc, ServerProperties http, ManagementServerProperties operators) {
    List<Door> ports = new ArrayList<>();
    GrpcServerProperties.Ssl tls = grpc.getSsl();
    boolean isSecure =
        tls.getEnabled() == null ? tls.getBundle() != null : Boolean.TRUE.equals(tls.getEnabled());
    ports.add(
        new Door(
            "spring.grpc.server.address",
            grpc.getAddress(),
            isSecure,
            isSecure && tls.getClientAuth() != TlsServerCredentials.ClientAuth.NONE));
    ports.add(door("server.address", http.getAddress(), http.getSsl()));
    ports.add(door("management.server.address", operators.getAddress(), operators.getSsl()));
    return new Doors(ports);
  }

  /** These and another. */
  public Doors and(Door other) {
    List<Door> all = new ArrayList<>(ports);
    all.add(other);
    return new Doors(all);
  }

  /** Boot's settings of a port over HTTP. */
  public static Door door(String key, @Nullable InetAddress address, @Nullable Ssl tls) {
    boolean isSecure = Ssl.isEnabled(tls);
    boolean verifies =
        isSecure
            && tls != null
            && tls.getClientAuth() != null
            && tls.getClientAuth() != Ssl.ClientAuth.NONE;
    return new Door(key, address, isSecure, verifies);
  }

  /**
   * A port.
   *
   * @param key of the setting that says where it listens
   * @param address null for every address of the machine
   * @param isSecure whether by TLS
   * @param verifiesClients whether certificates of clients are asked for
   */
  public record Door(
      String key, @Nullable InetAddress address, boolean isSecure, boolean verifiesClients) {
    boolean isBeyondLoopback() {
      return address == null || !address.isLoopbackAddress();
    }
  }
}

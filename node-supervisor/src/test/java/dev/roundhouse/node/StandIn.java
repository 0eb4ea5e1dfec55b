package dev.roundhouse.node;

import com.sun.net.httpserver.HttpServer;
import dev.roundhouse.platform.process.Supervised;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * In place of a worker or a gateway: is ready on its metrics port once a file {@code NAME.ready} is
 * in the folder, and notes its stop in the file {@code stops}.
 */
final class StandIn {
  private StandIn() {}

  static List<String> command(String role, Path folder) {
    return new ArrayList<>(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-Xmx64m",
            "-cp",
            System.getProperty("java.class.path"),
            StandIn.class.getName(),
            role,
            folder.toString()));
  }

  public static void main(String[] arguments) throws Exception {
    Supervised.follow();
    String role = arguments[0];
    Path folder = Path.of(arguments[1]);
    Files.writeString(
        folder.resolve(role + ".arguments"),
        String.join("\n", arguments)
            + "\nCUDA_VISIBLE_DEVICES="
            + System.getenv("CUDA_VISIBLE_DEVICES")
            + "\n",
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
    if (Files.exists(folder.resolve("fails"))) {
      System.exit(9);
    }
    InetSocketAddress address =
        new InetSocketAddress(
            InetAddress.getByName("127.0.0.1"),
            Integer.parseInt(option(arguments, "management.server.port")));
    HttpServer server = HttpServer.create(address, 10);
    server.createContext(
        "/actuator/health/readiness",
        exchange -> {
          boolean ready = Files.exists(folder.resolve(role + ".ready"));
          exchange.sendResponseHeaders(ready ? 200 : 503, -1);
          exchange.close();
        });
    page(server, "/metrics", "# TYPE runs gauge\nruns{of=\"" + role + "\"} 1.0\n");
    page(server, "/actuator/models", "{\"models\":[{\"name\":\"of " + role + "\"}]}");
    server.start();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> note(folder, role)));
    Files.writeString(folder.resolve(role + ".up"), "");
    System.out.println("up");
    while (true) {
      LockSupport.park();
    }
  }

  private static void page(HttpServer server, String path, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    server.createContext(
        path,
        exchange -> {
          exchange.sendResponseHeaders(200, bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
  }

  private static void note(Path folder, String role) {
    try {
      Files.writeString(
          folder.resolve("stops"),
          role + "\n",
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static String option(String[] arguments, String key) {
    for (String argument : arguments) {
      if (argument.startsWith("--" + key + "=")) {
        return argument.substring(key.length() + 3);
      }
    }
    return "";
  }
}

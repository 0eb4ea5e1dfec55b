package dev.roundhouse.benchmarks.serving;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * The peer process: stock grpc-java with nothing but {@link EchoService}. Argument: the executor,
 * {@code default} or {@code direct}. Prints {@code listening PORT}; ends when stdin closes.
 */
final class EchoServer {
  private EchoServer() {}

  public static void main(String[] arguments) throws IOException {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new EchoService());
    switch (arguments[0]) {
      case "default" -> {}
      case "direct" -> builder.directExecutor();
      default ->
          throw new IllegalArgumentException(
              "executor is '%s'; use default or direct".formatted(arguments[0]));
    }
    Server server = builder.build().start();
    System.out.println("listening " + server.getPort());
    while (System.in.read() >= 0) {
      // Nothing is ever written here; the end of the stream is the parent's end.
    }
    server.shutdownNow();
  }
}

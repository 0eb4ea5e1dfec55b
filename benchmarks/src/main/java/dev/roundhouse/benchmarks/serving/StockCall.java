package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.Function;

/** Calls that are not measured, by a stock client on a connection of their own. */
public final class StockCall {
  private StockCall() {}

  /** Makes a call to a port of this machine. */
  public static <T> T to(int port, Function<GRPCInferenceServiceBlockingStub, T> call) {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
            .usePlaintext()
            .build();
    try {
      return call.apply(GRPCInferenceServiceGrpc.newBlockingStub(channel));
    } finally {
      channel.shutdownNow();
    }
  }
}

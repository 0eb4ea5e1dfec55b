package dev.roundhouse.transport.http2;

import io.grpc.ServerBuilder;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The contract is what grpc-java does. */
class GrpcJavaContractTest extends GrpcContract {
  private static final Logger LOGGER = Logger.getLogger("io.grpc");

  /** It logs a stack trace of what its clients do wrong. */
  @BeforeAll
  static void silence() {
    LOGGER.setLevel(Level.OFF);
  }

  @AfterAll
  static void speak() {
    LOGGER.setLevel(null);
  }

  @Override
  protected ServerBuilder<?> builder() {
    return NettyServerBuilder.forAddress(ANY_PORT).directExecutor().flowControlWindow(1 << 16);
  }

  @Override
  protected Status.Code tooLargeUncompressed() {
    return Status.Code.UNKNOWN;
  }
}

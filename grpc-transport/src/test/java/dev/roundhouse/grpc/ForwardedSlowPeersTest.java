package dev.roundhouse.grpc;

import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

/** As slow peers, of calls that are sent on to another server, which has no such limits. */
class ForwardedSlowPeersTest extends SlowPeersTest {

  @Override
  ServerBuilder<?> serving(Http2ServerBuilder with, ServerServiceDefinition service) {
    ServerBuilder<?> back =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .maxInboundMessageSize(256 << 20)
            .addService(service);
    return new Front(back, with);
  }

  @Override
  @Test
  @Disabled("what is passed on is not counted here: a stream's windows bound it")
  void shouldCountSmallMessagesThatMustWait() {}

  @Override
  @Test
  @Disabled("what is passed on is not counted here: a stream's windows bound it")
  void shouldCountWholeMessagesOfRequestsThatDoNotEnd() {}

  @Override
  @Test
  @Disabled("the server is told at once: what is held of its answer is not its any more")
  void shouldCountWhatIsHeldOfAStreamThatFails() {}

  @Override
  @Test
  @Disabled(
      "its end cannot be seen: the server has given its whole answer and hears of no deadline")
  void shouldHoldNoAnswerBeyondItsDeadline() {}
}

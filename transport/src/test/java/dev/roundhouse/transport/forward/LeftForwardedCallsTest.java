package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.http2.TestService;
import io.grpc.CallOptions;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients that do not wait for their answers, beside one that does. */
@Timeout(60)
class LeftForwardedCallsTest extends SentOn {
  private static final int CALLERS = 24;

  /** In all more than Netty's 200 resets, and fewer than a client may leave open at a server. */
  private static final int CALLS_EACH = 10;

  private final TestService service = new TestService();

  @BeforeEach
  void start() throws Exception {
    startFront(new Front.Everything(address(serve(service.definition()))));
  }

  @Test
  void shouldFailNoCallOfOthersWhenManyDeadlinesPass() throws Exception {
    AtomicInteger late = new AtomicInteger();
    List<Thread> callers = new ArrayList<>();
    for (int i = 0; i < CALLERS; i++) {
      int millis = 3 + i % 18;
      callers.add(Thread.ofPlatform().start(() -> callInVain(millis, late)));
    }
    byte[] message = new byte[100];
    int answered = 0;
    do {
      assertThat(
              ClientCalls.blockingUnaryCall(
                  channel(), TestService.ECHO, CallOptions.DEFAULT, message))
          .isEqualTo(message);
      answered++;
    } while (callers.stream().anyMatch(Thread::isAlive));
    assertThat(answered).isPositive();
    assertThat(late).hasValue(CALLERS * CALLS_EACH);
  }

  private void callInVain(int millis, AtomicInteger late) {
    for (int i = 0; i < CALLS_EACH; i++) {
      try {
        ClientCalls.blockingUnaryCall(
            channel(),
            TestService.WAIT,
            CallOptions.DEFAULT.withDeadlineAfter(millis, TimeUnit.MILLISECONDS),
            new byte[10]);
      } catch (StatusRuntimeException e) {
        if (e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED) {
          late.incrementAndGet();
        }
      }
    }
  }
}

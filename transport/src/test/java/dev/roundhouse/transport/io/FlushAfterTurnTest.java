package dev.roundhouse.transport.io;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FlushAfterTurnTest {
  private final RefusingChannel channel = new RefusingChannel();

  @AfterEach
  void close() {
    channel.refuses = false;
    channel.finishAndReleaseAll();
  }

  @Test
  void shouldFlushOnceTheTurnIsOver() {
    channel.write("answer");
    EventLoops.flushAfterTurn(channel);
    assertThat(channel.outboundMessages()).isEmpty();
    channel.runPendingTasks();
    assertThat(channel.outboundMessages()).containsExactly("answer");
  }

  @Test
  void shouldFlushAtOnceWhenTheLoopTakesNoTask() {
    channel.write("answer");
    channel.refuses = true;
    EventLoops.flushAfterTurn(channel);
    assertThat(channel.outboundMessages()).containsExactly("answer");
  }

  /** Its event loop can be made to take no tasks. */
  private static final class RefusingChannel extends EmbeddedChannel {
    private boolean refuses;

    @Override
    public EventLoop eventLoop() {
      EventLoop own = super.eventLoop();
      return refuses
          ? (EventLoop)
              Proxy.newProxyInstance(
                  EventLoop.class.getClassLoader(),
                  new Class<?>[] {EventLoop.class},
                  (proxy, method, arguments) -> {
                    if (method.getName().equals("execute")) {
                      throw new OutOfMemoryError("as asked");
                    }
                    return method.invoke(own, arguments);
                  })
          : own;
    }
  }
}

package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.transport.Transports;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.support.GenericApplicationContext;

/** All transports are drained and stopped, whatever one of them does. */
class TransportLifecycleTest {
  private static final Duration BUDGET = Duration.ofMinutes(1);

  private final List<String> calls = new ArrayList<>();
  private final List<Duration> budgets = new ArrayList<>();
  private final GenericApplicationContext context = new GenericApplicationContext();
  private final Logger logger = (Logger) LoggerFactory.getLogger(TransportLifecycle.class);
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  @BeforeEach
  void keepTheLogToTheTest() {
    logger.setAdditive(false);
    logger.addAppender(logged);
    logged.start();
  }

  @AfterEach
  void giveTheLogBack() {
    logger.detachAppender(logged);
    logger.setAdditive(true);
  }

  /** Notes what is called, and then throws. */
  private final class Noting implements Transport {
    private final String name;
    private final @Nullable Throwable thrown;

    Noting(String name, @Nullable Throwable thrown) {
      this.name = name;
      this.thrown = thrown;
    }

    private void note(String call) {
      calls.add(call + " " + name);
      if (thrown instanceof Error error) {
        throw error;
      }
      if (thrown instanceof RuntimeException exception) {
        throw exception;
      }
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public void start() throws IOException {
      if (thrown instanceof IOException exception) {
        throw exception;
      }
      calls.add("start " + name);
    }

    @Override
    public List<Integer> ports() {
      return List.of();
    }

    @Override
    public void drain() {
      note("drain");
    }

    @Override
    public void stop(Duration budget) throws InterruptedException {
      budgets.add(budget);
      note("stop");
      if (thrown instanceof InterruptedException exception) {
        throw exception;
      }
    }
  }

  private TransportLifecycle lifecycle(@Nullable Throwable thrown) {
    return new TransportLifecycle(
        new Transports(
            List.of(new Noting("a", null), new Noting("odd", thrown), new Noting("c", null))),
        BUDGET,
        context);
  }

  private void close(TransportLifecycle lifecycle) {
    lifecycle.onApplicationEvent(new ContextClosedEvent(context));
    lifecycle.stop();
  }

  @ParameterizedTest
  @ValueSource(classes = {IllegalStateException.class, LinkageError.class})
  void shouldDrainAndStopTheOthersWhenOneCannot(Class<? extends Throwable> type) throws Exception {
    TransportLifecycle lifecycle = lifecycle(type.getDeclaredConstructor().newInstance());
    lifecycle.start();

    close(lifecycle);

    assertThat(calls)
        .containsExactly(
            "start a",
            "start odd",
            "start c",
            "drain a",
            "drain odd",
            "drain c",
            "stop a",
            "stop odd",
            "stop c");
    assertThat(logged.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .containsExactly(
            "the transport 'odd' could not drain", "the transport 'odd' could not stop");
    assertThat(lifecycle.isRunning()).isFalse();
  }

  @Test
  void shouldStopTheOthersAtOnceWhenItIsInterrupted() {
    close(lifecycle(new InterruptedException()));

    assertThat(Thread.interrupted()).isTrue();
    assertThat(calls).contains("stop a", "stop odd", "stop c");
    assertThat(budgets.get(1)).isPositive();
    assertThat(budgets.get(2)).isZero();
  }

  @Test
  void shouldGiveThemWhatIsLeftSinceItsContextBeganToClose() throws Exception {
    TransportLifecycle lifecycle = lifecycle(null);
    lifecycle.onApplicationEvent(new ContextClosedEvent(new GenericApplicationContext()));
    assertThat(calls).as("one within it has closed").isEmpty();

    close(lifecycle);

    assertThat(budgets).hasSize(3).isSortedAccordingTo((one, other) -> other.compareTo(one));
    assertThat(budgets).allSatisfy(each -> assertThat(each).isPositive().isLessThan(BUDGET));
  }

  @Test
  void shouldNameTheOneThatCannotStartAndStopThoseBefore() {
    TransportLifecycle lifecycle = lifecycle(new IOException("the.port=1: it is taken"));

    assertThatThrownBy(lifecycle::start)
        .isInstanceOf(StartRefusedException.class)
        .hasMessage("The transport 'odd' cannot be started: the.port=1: it is taken.");

    assertThat(calls).containsExactly("start a");
    assertThat(lifecycle.isRunning()).as("so that it is stopped").isTrue();
  }
}

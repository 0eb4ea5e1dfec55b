package dev.roundhouse.platform.logging;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.read.ListAppender;
import dev.roundhouse.platform.audit.Audit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RepeatsTest {
  private static final int MOST = Repeats.MOST;

  private final AtomicLong clock = new AtomicLong(7);
  private final List<Runnable> later = new ArrayList<>();
  private final LoggerContext context = new LoggerContext();
  private final Logger log = context.getLogger("dev.roundhouse.Engine");
  private final ListAppender<ILoggingEvent> shown = new ListAppender<>();
  private boolean stopping;

  RepeatsTest() {
    context.setMDCAdapter(new LogbackMDCAdapter());
    shown.start();
    context.getLogger("ROOT").addAppender(shown);
    context.getLogger("ROOT").setLevel(Level.INFO);
    context.addTurboFilter(
        new Repeats(
            clock::get,
            (task, nanos) -> {
              if (stopping) {
                throw new RejectedExecutionException("made by a test");
              }
              assertThat(nanos).isBetween(1L, Repeats.WHILE_NANOS);
              later.add(task);
            }));
  }

  @AfterEach
  void stop() {
    context.stop();
  }

  @Test
  void shouldCountWhatIsLikeTheFirstAndSayHowManyThereWere() {
    for (int i = 1; i <= MOST + 812; i++) {
      log.warn("call {} of '{}' could not be answered", i, "m");
    }
    assertThat(shown.list).hasSize(MOST);
    assertThat(later).hasSize(1);
    later.getFirst().run();
    assertThat(shown.list).hasSize(MOST + 1);
    assertThat(shown.list.getLast().getLevel()).isEqualTo(Level.WARN);
    assertThat(text())
        .isEqualTo("call 822 of 'm' could not be answered ... and 812 more like it in 10 s");
  }

  @Test
  void shouldBeginAgainAfterAWhile() {
    repeat(MOST + 1, () -> log.info("again"));
    clock.addAndGet(Repeats.WHILE_NANOS);
    repeat(MOST, () -> log.info("again"));
    later.forEach(Runnable::run);
    assertThat(shown.list).hasSize(2 * MOST + 1);
    assertThat(text()).isEqualTo("again ... and 1 more like it in 10 s");
  }

  @Test
  void shouldShowWhatComesBetweenTheEndAndTheNextWhile() {
    repeat(MOST + 1, () -> log.info("again"));
    later.forEach(Runnable::run);
    log.info("again");
    assertThat(text()).as("nobody would count it").isEqualTo("again");
  }

  @Test
  void shouldTellKindsApart() {
    Logger other = context.getLogger("dev.roundhouse.Other");
    repeat(
        MOST,
        () -> {
          log.info("one {}", 1);
          log.info("another {}", 1);
          log.warn("{}{}", "model 'a' failed", "");
          log.warn("{}{}", "model 'b' failed", "");
          log.warn("both", new IllegalStateException("x"));
          log.warn("both", new IllegalArgumentException("x"));
          other.info("one {}", 1);
        });
    assertThat(shown.list).hasSize(7 * MOST);
    log.warn("both", new IllegalStateException("of another text"));
    assertThat(shown.list).as("the eleventh").hasSize(7 * MOST);
  }

  @Test
  void shouldShowWhatIsToldOfManyModelsOnceEach() {
    for (int i = 0; i < 2 * MOST; i++) {
      log.info("model '{}' is ready", i);
    }
    assertThat(shown.list).hasSize(2 * MOST);
  }

  @Test
  void shouldShowErrorsThatSayDifferentThings() {
    for (int i = 0; i < 2 * MOST; i++) {
      log.error("model '{}' failed to load", i);
      log.error("a call failed", new IllegalStateException("reason " + i));
      log.error("'{}' failed", "m", new IllegalStateException("reason " + i));
    }
    assertThat(shown.list).hasSize(6 * MOST);
    repeat(MOST + 5, () -> log.error("the same '{}'", "m", new IllegalStateException("reason")));
    assertThat(shown.list).hasSize(7 * MOST);
  }

  @Test
  void shouldShowAllOfWhatWasAskedForAndOfDebugging() {
    Logger audit = context.getLogger(Audit.LOGGER);
    Logger debugged = context.getLogger("dev.roundhouse.debugged");
    debugged.setLevel(Level.DEBUG);
    repeat(
        MOST + 5,
        () -> {
          audit.info("10.0.0.1 POST /v2/logging: done");
          debugged.debug("a step");
          debugged.info("a result");
        });
    assertThat(shown.list).hasSize(3 * (MOST + 5));
  }

  @Test
  void shouldCountFluentRecordsToo() {
    repeat(MOST + 5, () -> log.atInfo().addKeyValue("k", "v").log("fluent"));
    assertThat(shown.list).hasSize(MOST);
  }

  @Test
  void shouldNotCountWhatIsNotShown() {
    log.setLevel(Level.WARN);
    repeat(MOST + 5, () -> log.info("hidden"));
    assertThat(later).isEmpty();
    assertThat(shown.list).isEmpty();
  }

  @Test
  void shouldHoldNoMoreHoweverManyDifferentTextsThereAre() {
    for (int i = 0; i < 100_000; i++) {
      log.info("text " + i);
    }
    assertThat(shown.list).as("all are shown: none was repeated").hasSize(100_000);
    repeat(MOST + 5, () -> log.info("x".repeat(100_000)));
    assertThat(shown.list).as("too long to be kept").hasSize(100_000 + MOST + 5);
  }

  @Test
  void shouldLogOnWhenNothingCanBeToldLater() {
    stopping = true;
    repeat(MOST + 5, () -> log.info("last words"));
    assertThat(shown.list).hasSize(MOST);
  }

  private String text() {
    return shown.list.getLast().getFormattedMessage();
  }

  private static void repeat(int times, Runnable task) {
    for (int i = 0; i < times; i++) {
      task.run();
    }
  }
}

package dev.roundhouse.devicecheck;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;

/** Steps of every fate, run in real processes by the tests. */
final class FakeSteps {
  private FakeSteps() {}

  abstract static class Fake implements Step {
    @Override
    public String name() {
      return getClass().getSimpleName().toLowerCase(java.util.Locale.ROOT);
    }

    @Override
    public String about() {
      return "a fake";
    }

    @Override
    public Duration limit() {
      return Duration.ofSeconds(60);
    }
  }

  /** Finds something and comes to its end. */
  public static final class Good extends Fake {
    @Override
    public void run(CheckContext context, Findings findings) {
      findings.pass("platform", context.platform());
      findings.figure("rate", 12.5, "GB/s", "");
    }
  }

  /** Finds something wrong. */
  public static final class Wrong extends Fake {
    @Override
    public void run(CheckContext context, Findings findings) {
      findings.check("sum", false, "is 3");
    }
  }

  /** Gives up. */
  public static final class GivingUp extends Fake {
    @Override
    public void run(CheckContext context, Findings findings) throws Exception {
      findings.pass("first", "");
      throw new java.io.IOException("the cable is out");
    }
  }

  /** Hangs, as does a process that it started. */
  public static final class Hanging extends Fake {
    @Override
    public Duration limit() {
      return Duration.ofSeconds(3);
    }

    @Override
    public void run(CheckContext context, Findings findings) throws Exception {
      Process child = new ProcessBuilder("sleep", "600").start();
      findings.figure("child", child.pid(), "", "");
      System.out.println("about to wait");
      new CountDownLatch(1).await();
    }
  }

  /** Its process is gone in the middle. */
  public static final class Crashing extends Fake {
    @Override
    public void run(CheckContext context, Findings findings) throws Exception {
      findings.pass("first", "");
      System.out.println("about to crash");
      new ProcessBuilder("sh", "-c", "kill -SEGV " + ProcessHandle.current().pid())
          .start()
          .waitFor();
      new CountDownLatch(1).await();
    }
  }
}

package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import java.time.Duration;
import java.util.List;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/** The tests that every device passes, on this one. */
public final class Contract implements Step {
  /** As users get the device, and with every read a copy by the plugin. */
  private static final List<String> TESTS =
      List.of(
          "dev.roundhouse.pjrt.PjrtDeviceContractTest",
          "dev.roundhouse.pjrt.PjrtDeviceCopyingContractTest");

  /** Where these tests look for what to open; the plugin they find as every program does. */
  private static final String PLATFORM = "roundhouse.contract.platform";

  private static final String ALLOCATOR = "roundhouse.contract.allocator";

  @Override
  public String name() {
    return "contract";
  }

  @Override
  public String about() {
    return "the tests that every device passes";
  }

  /** Each test opens the device. */
  @Override
  public Duration limit() {
    return Duration.ofSeconds(150);
  }

  @Override
  public void run(CheckContext context, Findings findings) {
    System.setProperty(PLATFORM, context.platform());
    if (context.allocator() != null) {
      System.setProperty(ALLOCATOR, context.allocator());
    }
    for (String test : TESTS) {
      String name = test.substring(test.lastIndexOf('.') + 1);
      TestExecutionSummary summary = execute(test);
      summary
          .getFailures()
          .forEach(
              failure ->
                  findings.fail(
                      failure.getTestIdentifier().getDisplayName(),
                      name + ": " + failure.getException()));
      long found = summary.getTestsFoundCount();
      findings.check(
          name,
          found > 0 && summary.getTestsSucceededCount() == found,
          "%d of %d tests passed".formatted(summary.getTestsSucceededCount(), found));
    }
  }

  private static TestExecutionSummary execute(String test) {
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(DiscoverySelectors.selectClass(test))
            .build();
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherFactory.create().execute(request, listener);
    return listener.getSummary();
  }
}

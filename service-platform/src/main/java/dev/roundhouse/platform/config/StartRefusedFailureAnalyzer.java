package dev.roundhouse.platform.config;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Prints the cause and the fix instead of a stack trace. */
final class StartRefusedFailureAnalyzer extends AbstractFailureAnalyzer<StartRefusedException> {
  @Override
  protected FailureAnalysis analyze(Throwable failure, StartRefusedException cause) {
    return new FailureAnalysis(cause.getMessage(), cause.action(), cause);
  }
}

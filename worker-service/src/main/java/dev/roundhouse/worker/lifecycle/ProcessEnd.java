package dev.roundhouse.worker.lifecycle;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;

/**
 * Ends the process without any clean-up. {@link Runtime#halt} calls C's {@code exit}, which
 * destroys what the plugin's threads still use: one that is in a run that hangs then meets freed
 * memory, and the process ends by SIGSEGV instead of with its code.
 */
public final class ProcessEnd {
  private ProcessEnd() {}

  /** Does not return. */
  public static void now(int code) {
    try {
      Linker linker = Linker.nativeLinker();
      linker
          .downcallHandle(
              linker.defaultLookup().findOrThrow("_exit"),
              FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT))
          .invokeExact(code);
    } catch (Throwable e) {
      Runtime.getRuntime().halt(code); // the next best, where native access is denied
    }
  }
}

package dev.roundhouse.worker.lifecycle;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import java.util.function.IntConsumer;

/**
 * Ends the process without any clean-up. {@link Runtime#halt} calls C's {@code exit}, which
 * destroys what the plugin's threads still use: one that is in a run that hangs then meets freed
 * memory, and the process ends by SIGSEGV instead of with its code.
 */
public final class ProcessEnd {
  private ProcessEnd() {}

  /** What ends the process; found ahead, so that the end itself loads nothing. */
  public static IntConsumer find() {
    try {
      Function exit = NativeLibrary.getInstance(Platform.C_LIBRARY_NAME).getFunction("_exit");
      return code -> exit.invokeVoid(new Object[] {code});
    } catch (LinkageError e) {
      return code -> Runtime.getRuntime().halt(code); // the next best
    }
  }
}

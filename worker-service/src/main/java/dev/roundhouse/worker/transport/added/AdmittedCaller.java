package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.transport.Caller;
import dev.roundhouse.engine.transport.CallerUse;
import dev.roundhouse.platform.access.Admitted;
import org.jspecify.annotations.Nullable;

/**
 * Who was admitted.
 *
 * @param by the connection that it calls over
 * @param rights null when nothing is checked
 */
record AdmittedCaller(CountedConnection by, CallerUse use, @Nullable Admitted rights)
    implements Caller {
  @Override
  public String name() {
    return rights == null ? "" : rights.name();
  }

  @Override
  public boolean mayUse(String model) {
    return rights == null || rights.mayUse(model);
  }
}

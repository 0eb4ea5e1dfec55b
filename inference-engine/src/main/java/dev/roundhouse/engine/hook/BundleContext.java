package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.hooks.ModelContext;
import java.nio.file.Path;
import java.util.List;

/** What hooks know of the bundle they are in. Its weights file need not be open. */
record BundleContext(Bundle bundle, String version) implements ModelContext {
  @Override
  public String name() {
    return bundle.name();
  }

  @Override
  public Path asset(String file) {
    try {
      return bundle.file(file);
    } catch (BundleException e) {
      throw missing(file, e);
    }
  }

  @Override
  public byte[] bytes(String file) {
    try {
      return bundle.readFile(file);
    } catch (BundleException e) {
      throw missing(file, e);
    }
  }

  private IllegalArgumentException missing(String file, BundleException why) {
    return new IllegalArgumentException(
        "file '%s' of model '%s': %s".formatted(file, name(), why.getMessage()), why);
  }

  @Override
  public List<String> labels(String output) {
    return BareContext.labels(bundle.spec(), output);
  }

  @Override
  public System.Logger logger() {
    return new HookLogger(name());
  }
}

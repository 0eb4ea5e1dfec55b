package dev.roundhouse.node.wiring;

import dev.roundhouse.platform.process.TemporaryFolder;
import java.nio.file.Path;

/** Where workers note what they are loading; removed when the node stops. */
final class RunFolder implements AutoCloseable {
  private final TemporaryFolder folder = TemporaryFolder.create("node");

  Path path() {
    return folder.path();
  }

  @Override
  public void close() {
    folder.close();
  }
}

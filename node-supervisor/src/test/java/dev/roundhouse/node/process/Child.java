package dev.roundhouse.node.process;

import dev.roundhouse.platform.process.Supervised;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** An application for tests: writes its number to a file, and runs until it is told to end. */
final class Child {
  private Child() {}

  public static void main(String[] arguments) throws Exception {
    Supervised.follow();
    Path folder = Path.of(arguments[0]);
    String name = arguments[1];
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  while (arguments.length > 2) {
                    LockSupport.park(); // one that hangs
                  }
                  folder
                      .resolve(name + ".pid")
                      .toFile()
                      .renameTo(folder.resolve(name + ".stopped").toFile());
                }));
    Path written = Files.writeString(folder.resolve(name), "" + ProcessHandle.current().pid());
    Files.move(written, folder.resolve(name + ".pid"));
    while (true) {
      LockSupport.park();
    }
  }
}

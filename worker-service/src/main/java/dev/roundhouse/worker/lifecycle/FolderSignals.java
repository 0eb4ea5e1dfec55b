package dev.roundhouse.worker.lifecycle;

import java.io.IOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * File system notifications of changes in some folders. They may be missed: network drives do not
 * report others' changes, and the number of watches per user is limited. So the listener looks at
 * the files, and also polls now and then. Thread-safe.
 */
final class FolderSignals implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(FolderSignals.class);

  private final WatchService service;
  private final Runnable onChange;
  private final Map<Path, WatchKey> keys = new HashMap<>();
  private boolean toldOfLimit;

  private FolderSignals(WatchService service, Runnable onChange) {
    this.service = service;
    this.onChange = onChange;
  }

  /**
   * @param onChange called on a separate thread for each change; returns at once
   * @throws IOException when the system has no more watches
   */
  static FolderSignals open(Runnable onChange) throws IOException {
    FolderSignals signals = new FolderSignals(FileSystems.getDefault().newWatchService(), onChange);
    Thread.ofPlatform().daemon().name("watch-signals").start(signals::run);
    return signals;
  }

  /**
   * Watches exactly these folders.
   *
   * @param folders real paths
   * @return true when one of them was not watched before: a change may have been missed
   */
  synchronized boolean cover(Set<Path> folders) {
    keys.entrySet()
        .removeIf(
            each -> {
              boolean gone = !folders.contains(each.getKey());
              if (gone) {
                each.getValue().cancel();
              }
              return gone || !each.getValue().isValid();
            });
    boolean more = false;
    for (Path folder : folders) {
      if (!keys.containsKey(folder)) {
        try {
          keys.put(
              folder,
              folder.register(
                  service,
                  StandardWatchEventKinds.ENTRY_CREATE,
                  StandardWatchEventKinds.ENTRY_DELETE,
                  StandardWatchEventKinds.ENTRY_MODIFY));
          more = true;
        } catch (ClosedWatchServiceException e) {
          return false;
        } catch (IOException e) {
          if (folder.toFile().isDirectory()) { // or it has been removed
            tellOfLimit(folder, e);
            return more;
          }
        }
      }
    }
    return more;
  }

  private void tellOfLimit(Path folder, IOException e) {
    if (!toldOfLimit) {
      toldOfLimit = true;
      log.info(
          "changes in {}, and maybe in others, are noticed by repository.poll-interval alone: {}",
          folder,
          e.getMessage());
    }
  }

  private void run() {
    try {
      while (true) {
        WatchKey key = service.take();
        key.pollEvents();
        boolean unused = key.reset(); // an invalid key is dropped by cover
        onChange.run();
      }
    } catch (ClosedWatchServiceException | InterruptedException e) {
      // closed
    }
  }

  @Override
  public void close() {
    try {
      service.close();
    } catch (IOException e) {
      log.debug("what listens to folders could not be closed", e);
    }
  }
}

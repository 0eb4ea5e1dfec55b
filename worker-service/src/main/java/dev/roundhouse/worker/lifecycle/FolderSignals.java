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
 * Hears from the file system that something in some folders has changed. It may not: network drives
 * tell of no changes that others make, and what one user may listen to is limited. So whoever is
 * told looks at the files, and looks now and then without being told. Thread-safe.
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
   * @param onChange called on a thread of its own, for each change; returns at once
   * @throws IOException when the system gives no more of what it listens by
   */
  static FolderSignals open(Runnable onChange) throws IOException {
    FolderSignals signals = new FolderSignals(FileSystems.getDefault().newWatchService(), onChange);
    Thread.ofPlatform().daemon().name("watch-signals").start(signals::run);
    return signals;
  }

  /**
   * Listens to these folders, and to no others any more.
   *
   * @param folders real paths
   * @return true when one of them was not listened to before: something may have changed unheard
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
          if (folder.toFile().isDirectory()) { // or it has gone since
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
        boolean unused = key.reset(); // one that is not valid any more is dropped by cover
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

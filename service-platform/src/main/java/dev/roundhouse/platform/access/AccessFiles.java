package dev.roundhouse.platform.access;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads files of tokens and keys again when they change, as Kubernetes changes those of a secret.
 * While one cannot be read, what was read before holds.
 */
public final class AccessFiles implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(AccessFiles.class);
  private static final Duration PERIOD = Duration.ofSeconds(2);

  private final Access access;
  private final List<Path> files;
  private final @Nullable Thread watching;
  private List<String> seen;
  private @Nullable String failure;

  public AccessFiles(Access access) {
    this.access = access;
    files =
        Stream.concat(
                access.settings().identities().values().stream()
                    .flatMap(each -> each.tokenFiles().stream()),
                access.settings().gatewayKeyFiles().stream())
            .distinct()
            .toList();
    seen = stamps();
    watching = files.isEmpty() ? null : Thread.ofVirtual().name("access-files").start(this::watch);
  }

  private void watch() {
    try {
      while (true) {
        Thread.sleep(PERIOD);
        look();
      }
    } catch (InterruptedException e) {
      // closed
    } catch (Throwable e) {
      log.error("files of tokens and keys are not read again from now on", e);
    }
  }

  /** Reads all again when one has changed. */
  void look() {
    List<String> now = stamps();
    if (now.equals(seen)) {
      return;
    }
    try {
      access.reload();
      seen = now;
      failure = null;
      log.info("{}: tokens and keys are read again", access.key());
    } catch (IOException e) {
      String text = AccessStart.text(e);
      if (!text.equals(failure)) {
        failure = text;
        log.error(
            "{}: a file has changed and cannot be read: {}; tokens and keys read before hold on",
            access.key(),
            text);
      }
    }
  }

  private List<String> stamps() {
    List<String> stamps = new ArrayList<>(files.size());
    for (Path file : files) {
      stamps.add(stamp(file));
    }
    return stamps;
  }

  private static String stamp(Path file) {
    try {
      BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
      return now.lastModifiedTime() + " " + now.size() + " " + now.fileKey();
    } catch (IOException e) {
      return "none";
    }
  }

  @Override
  public void close() {
    if (watching != null) {
      watching.interrupt();
    }
  }
}

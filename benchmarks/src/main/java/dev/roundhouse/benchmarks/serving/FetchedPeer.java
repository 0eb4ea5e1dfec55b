package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.measure.PeerAbsentException;
import dev.roundhouse.pjrt.CacheDirectory;
import java.nio.file.Files;
import java.nio.file.Path;

/** What {@code tools/peers/fetch} has put into the cache. */
public final class FetchedPeer {
  private FetchedPeer() {}

  /**
   * The folder of something that was fetched.
   *
   * @param what its name on the command line of the script
   * @param program that it holds
   * @throws PeerAbsentException when it cannot run here, or has not been fetched
   */
  public static Path find(String what, String folder, Path program) throws PeerAbsentException {
    String system = System.getProperty("os.name", "") + " " + System.getProperty("os.arch", "");
    if (!system.equals("Linux amd64")) {
      throw new PeerAbsentException("it can be had for Linux on x86_64 only, this is " + system);
    }
    Path cache =
        CacheDirectory.of(System::getenv)
            .orElseThrow(() -> new PeerAbsentException("no cache; " + CacheDirectory.ADVICE));
    return in(cache, what, folder, program);
  }

  static Path in(Path cache, String what, String folder, Path program) throws PeerAbsentException {
    Path found = cache.resolve(folder);
    if (!Files.isExecutable(found.resolve(program))) {
      throw new PeerAbsentException(
          "%s is missing; fetch it: tools/peers/fetch %s (./roundhouse bench does)"
              .formatted(found.resolve(program), what));
    }
    return found;
  }
}

package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.kserve.codec.RegionRange;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The regions of shared memory that clients have registered, by name. A region that is unregistered
 * stays for the requests that use it already. Thread-safe.
 */
public final class ClientRegions implements AutoCloseable {
  /** Names of objects that are others' business: this server's weights, and Triton's own. */
  private static final List<String> KEPT =
      List.of("roundhouse-", "triton_python_backend_shm_region_");

  private final Settings settings;
  private final RegionCopy copy;
  private final SharedObjects objects = new SharedObjects();
  private final Map<String, ClientRegion> regions = new TreeMap<>();

  /**
   * @param copy what reads and writes regions
   */
  public ClientRegions(Settings settings, RegionCopy copy) {
    this.settings = settings;
    this.copy = copy;
  }

  /**
   * What the operator allows.
   *
   * @param enabled whether clients may use shared memory at all
   * @param keyPrefixes beginnings of the names of objects that may be registered; empty for any
   * @param most regions that may be registered at once
   */
  public record Settings(boolean enabled, List<String> keyPrefixes, int most) {}

  /** A region as it was registered. */
  public record Registered(String name, String key, long offset, long byteSize) {}

  /**
   * @param key of the POSIX object, with or without a leading slash
   * @param offset where the region begins in it, in bytes
   * @throws WireException UNIMPLEMENTED when shared memory is off, else what is wrong
   */
  public void register(String name, String key, long offset, long byteSize) {
    requireEnabled();
    if (name.isEmpty()) {
      throw WireException.invalidArgument(
          "shared memory region name cannot be empty; every request names it");
    }
    Path object = object(key);
    if (byteSize <= 0) {
      throw refused(name, "byte_size is %s; it must be 1 or more", Long.toUnsignedString(byteSize));
    }
    if (offset < 0 || offset + byteSize < 0) {
      throw refused(
          name,
          "offset %s and byte_size %s are more than a file can hold",
          Long.toUnsignedString(offset),
          Long.toUnsignedString(byteSize));
    }
    synchronized (regions) {
      if (regions.containsKey(name)) {
        throw new WireException(
            WireStatus.ALREADY_EXISTS, "shared memory region '" + name + "' already in manager");
      }
      if (regions.size() >= settings.most()) {
        throw new WireException(
            WireStatus.RESOURCE_EXHAUSTED,
            "%d shared memory regions are registered and that is the limit; unregister some, or raise roundhouse.worker.shared-memory.max-regions"
                .formatted(regions.size()));
      }
      regions.put(name, open(name, key, object, offset, byteSize));
    }
  }

  private ClientRegion open(String name, String key, Path path, long offset, long byteSize) {
    FileChannel channel;
    try {
      if (!SharedObjects.isObject(path)) {
        throw cannotOpen(key);
      }
      channel =
          FileChannel.open(
              path, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      throw cannotOpen(key);
    }
    try {
      long size = channel.size();
      if (offset + byteSize > size) {
        throw refused(
            name,
            "invalid args: offset %d and byte_size %d end beyond '%s', which has %d bytes",
            offset,
            byteSize,
            key,
            size);
      }
      return new ClientRegion(name, key, offset, byteSize, channel, copy);
    } catch (IOException | WireException e) {
      try {
        channel.close();
      } catch (IOException closing) {
        e.addSuppressed(closing);
      }
      throw e instanceof WireException refusal ? refusal : cannotOpen(key);
    }
  }

  /**
   * Forgets a region; harmless when there is none.
   *
   * @param name empty for every region
   */
  public void unregister(String name) {
    List<ClientRegion> gone = new ArrayList<>();
    synchronized (regions) {
      if (name.isEmpty()) {
        gone.addAll(regions.values());
        regions.clear();
      } else {
        ClientRegion region = regions.remove(name);
        if (region != null) {
          gone.add(region);
        }
      }
    }
    gone.forEach(ClientRegion::release);
  }

  /**
   * What is registered, by name.
   *
   * @param name empty for every region
   * @throws WireException NOT_FOUND when there is none of that name
   */
  public List<Registered> status(String name) {
    synchronized (regions) {
      if (!name.isEmpty() && !regions.containsKey(name)) {
        throw new WireException(
            WireStatus.NOT_FOUND, "Unable to find system shared memory region: '" + name + "'");
      }
      return regions.values().stream()
          .filter(region -> name.isEmpty() || region.name().equals(name))
          .map(
              region ->
                  new Registered(region.name(), region.key(), region.offset(), region.byteSize()))
          .toList();
    }
  }

  /**
   * Holds a part of a region for a request, whatever becomes of its name.
   *
   * @throws WireException UNIMPLEMENTED when shared memory is off, NOT_FOUND when there is no such
   *     region, INVALID_ARGUMENT when the range is not inside it
   */
  public Lease lease(RegionRange range) {
    requireEnabled();
    ClientRegion region = find(range.region());
    if (region == null) {
      throw new WireException(
          WireStatus.NOT_FOUND,
          "Unable to find shared memory region: '"
              + range.region()
              + "'; register it with SystemSharedMemoryRegister");
    }
    try {
      checkRange(region, range);
      region.requireThere(range.offset(), range.byteSize());
      return new Lease(region, range);
    } catch (RuntimeException e) {
      region.release();
      throw e;
    }
  }

  private @Nullable ClientRegion find(String name) {
    synchronized (regions) {
      ClientRegion region = regions.get(name);
      return region != null && region.use() ? region : null;
    }
  }

  private static void checkRange(ClientRegion region, RegionRange range) {
    if (range.offset() >= region.byteSize()) {
      throw WireException.invalidArgument(
          "Invalid offset for shared memory region: '%s': it is %d and the region has %d bytes"
              .formatted(region.name(), range.offset(), region.byteSize()));
    }
    if (range.byteSize() > region.byteSize() - range.offset()) {
      throw WireException.invalidArgument(
          "Invalid offset + byte size for shared memory region: '%s': %d bytes at %d, and the region has %d bytes"
              .formatted(region.name(), range.byteSize(), range.offset(), region.byteSize()));
    }
  }

  /** The file of an object that a client may register. */
  private Path object(String key) {
    Path file = objects.file(key);
    String object = file.getFileName().toString();
    if (KEPT.stream().anyMatch(object::startsWith)) {
      throw WireException.invalidArgument(
          "cannot register shared memory with key '%s': names that begin with %s are not for clients"
              .formatted(key, String.join(" or ", KEPT)));
    }
    if (!settings.keyPrefixes().isEmpty()
        && settings.keyPrefixes().stream().noneMatch(object::startsWith)) {
      throw WireException.invalidArgument(
          "cannot register shared memory with key '%s': keys begin with %s here (roundhouse.worker.shared-memory.key-prefixes)"
              .formatted(key, String.join(" or ", settings.keyPrefixes())));
    }
    return file;
  }

  private void requireEnabled() {
    if (!settings.enabled()) {
      throw new WireException(
          WireStatus.UNIMPLEMENTED,
          "Client shared memory is disabled; send tensors in the request, or have the operator set roundhouse.worker.shared-memory.enabled");
    }
  }

  /** What somebody is told who asks for a region of CUDA's memory: there are none. */
  public WireException noCudaRegion(String name) {
    boolean system;
    synchronized (regions) {
      system = regions.containsKey(name);
    }
    return new WireException(
        WireStatus.NOT_FOUND,
        "Unable to find cuda shared memory region: '"
            + name
            + (system ? "'; it is a region of system shared memory" : "'"));
  }

  /** What somebody is told who registers CUDA's memory. */
  public static WireException noCuda(String name) {
    return WireException.invalidArgument(
        "failed to register CUDA shared memory region '"
            + name
            + "': this server takes no CUDA memory; register system shared memory, or send tensors"
            + " in the request");
  }

  private static WireException refused(String name, String format, Object... values) {
    return WireException.invalidArgument(
        "failed to register shared memory region '" + name + "': " + format.formatted(values));
  }

  private static WireException cannotOpen(String key) {
    return new WireException(
        WireStatus.INTERNAL,
        "Unable to open shared memory region: '"
            + key
            + "'; make it first, on the same machine, readable and writable for this server");
  }

  @Override
  public void close() {
    unregister("");
  }
}

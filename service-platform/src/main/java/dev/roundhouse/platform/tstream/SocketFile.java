package dev.roundhouse.platform.tstream;

import io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.net.BindException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/** A socket's place in the file system. */
public final class SocketFile {
  private final Path path;

  public SocketFile(Path path) {
    this.path = path;
  }

  public SocketAddress address() {
    return new DomainSocketAddress(path.toString());
  }

  /**
   * Removes what a process that was killed has left.
   *
   * @throws BindException when somebody listens there, or another kind of file has the name
   */
  public void makeRoom() throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    if (!Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .isOther()) {
      throw new BindException(path + " is there already, and is no socket");
    }
    if (isListening()) {
      throw new BindException("another process listens at " + path);
    }
    Files.delete(path);
  }

  private boolean isListening() {
    try (SocketChannel probe = SocketChannel.open(UnixDomainSocketAddress.of(path))) {
      return probe.isConnected();
    } catch (IOException e) {
      return false;
    }
  }
}

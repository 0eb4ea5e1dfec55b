package dev.roundhouse.client.stream;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** A connection by TLS, for one thread that waits. */
final class TlsChannel implements ByteChannel {
  private static final String ALPN = "tstream/1";

  /** As much as a record of TLS has. */
  private static final int PIECE_BYTES = 16 << 10;

  private final SSLSocket socket;
  private final InputStream in;
  private final OutputStream out;
  private final byte[] read = new byte[PIECE_BYTES];
  private final byte[] written = new byte[PIECE_BYTES];

  private TlsChannel(SSLSocket socket) throws IOException {
    this.socket = socket;
    in = socket.getInputStream();
    out = socket.getOutputStream();
  }

  /**
   * Connects, and holds the server's certificate against the name that it was asked for by.
   *
   * @param mostMillis for connecting, and for each wait for the server; 0 for no limit
   * @throws IOException when there is no TLS to agree on, or the server does not speak TSTREAM
   */
  static TlsChannel connect(InetSocketAddress address, SSLContext tls, int mostMillis)
      throws IOException {
    if (address.isUnresolved()) {
      throw new UnknownHostException(address.getHostString());
    }
    Socket plain = new Socket();
    try {
      plain.connect(address, mostMillis);
      plain.setTcpNoDelay(true);
      plain.setSoTimeout(mostMillis);
      SSLSocket socket =
          (SSLSocket)
              tls.getSocketFactory()
                  .createSocket(plain, address.getHostString(), address.getPort(), true);
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      parameters.setApplicationProtocols(new String[] {ALPN});
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      if (!ALPN.equals(socket.getApplicationProtocol())) {
        throw new IOException(
            "the server at %s speaks TLS, and not %s by ALPN".formatted(address, ALPN));
      }
      return new TlsChannel(socket);
    } catch (Throwable e) {
      plain.close();
      throw e;
    }
  }

  @Override
  public int read(ByteBuffer to) throws IOException {
    int count;
    try {
      count = in.read(read, 0, Math.min(read.length, to.remaining()));
    } catch (SocketTimeoutException e) {
      close();
      throw e;
    }
    if (count > 0) {
      to.put(read, 0, count);
    }
    return count;
  }

  @Override
  public int write(ByteBuffer from) throws IOException {
    int count = Math.min(written.length, from.remaining());
    from.get(written, 0, count);
    out.write(written, 0, count);
    return count;
  }

  @Override
  public boolean isOpen() {
    return !socket.isClosed();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}

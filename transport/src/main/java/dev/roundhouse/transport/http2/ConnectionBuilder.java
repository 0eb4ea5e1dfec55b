package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.memory.ConnectionMemory;
import io.netty.handler.codec.http2.AbstractHttp2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Settings;

/** Builds a connection with limits that keep one client from taking what others need. */
final class ConnectionBuilder
    extends AbstractHttp2ConnectionHandlerBuilder<Connection, ConnectionBuilder> {
  /** Unsent answers to pings and settings while the client does not read. */
  private static final int MOST_CONTROL_FRAMES = 1000;

  private final Connection.Server server;
  private final ServerSettings settings;
  private final ConnectionMemory memory;

  private ConnectionBuilder(
      Connection.Server server, ServerSettings settings, ConnectionMemory memory) {
    this.server = server;
    this.settings = settings;
    this.memory = memory;
  }

  static Connection connection(
      Connection.Server server, ServerSettings settings, ConnectionMemory memory) {
    return new ConnectionBuilder(server, settings, memory)
        .connection(PeerConnection.fairConnection(true))
        .initialSettings(
            new Http2Settings()
                .initialWindowSize(initialWindow(settings))
                .maxConcurrentStreams(settings.limits().maxConcurrentStreams())
                .maxHeaderListSize(settings.limits().maxMetadataBytes()))
        .validateRequiredPseudoHeaders(true)
        .decoderEnforceMaxRstFramesPerWindow(
            PeerConnection.MOST_RESETS, PeerConnection.WINDOW_SECONDS)
        .encoderEnforceMaxRstFramesPerWindow(
            PeerConnection.MOST_RESETS, PeerConnection.WINDOW_SECONDS)
        .encoderEnforceMaxQueuedControlFrames(MOST_CONTROL_FRAMES)
        .headerSensitivityDetector((name, value) -> !HeaderCodec.isOfEveryCall(name))
        .decoderEnforceMaxConsecutiveEmptyDataFrames(PeerConnection.MOST_EMPTY_DATA_FRAMES)
        .build();
  }

  private static int initialWindow(ServerSettings settings) {
    int most = settings.limits().streamWindowBytes();
    return settings.forwarder() == null ? most : settings.forwarder().firstWindowBytes(most);
  }

  @Override
  protected Connection build(
      Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings initial) {
    return new Connection(decoder, encoder, initial, server, settings, memory);
  }
}

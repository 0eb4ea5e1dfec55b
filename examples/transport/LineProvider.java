package example.line;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.engine.transport.TransportContext;
import dev.roundhouse.engine.transport.TransportProvider;
import dev.roundhouse.engine.transport.TransportSettings;
import java.net.InetSocketAddress;

/** Makes {@link LineTransport}. Named in META-INF/services. */
public final class LineProvider implements TransportProvider {
  @Override
  public String name() {
    return "line";
  }

  @Override
  public Transport open(TransportContext context) {
    TransportSettings settings = context.settings();
    String address = settings.text("address", "127.0.0.1");
    int port = (int) settings.number("port", 8010, 0, 65535);
    int maxLine = (int) settings.number("max-line", 1 << 20, 64, 1 << 30);
    int maxOpen = (int) settings.number("max-open", 64, 1, 4096);
    return new LineTransport(
        context, new InetSocketAddress(address, port), settings.key("port"), maxLine, maxOpen);
  }
}

package example.line;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.engine.transport.TransportContext;
import dev.roundhouse.engine.transport.TransportProvider;

/** Makes {@link LineTransport}. Named in META-INF/services. */
public final class LineProvider implements TransportProvider {
  @Override
  public String name() {
    return "line";
  }

  @Override
  public Transport open(TransportContext context) {
    return new LineTransport(context);
  }
}

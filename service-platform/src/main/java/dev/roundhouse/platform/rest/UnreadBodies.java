package dev.roundhouse.platform.rest;

import jakarta.servlet.ServletException;
import java.io.IOException;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;

/**
 * Takes what is left of a request's body when it has been answered, which Tomcat would wait for as
 * long as a byte comes now and then.
 */
final class UnreadBodies extends ValveBase {
  UnreadBodies() {
    super(true);
  }

  @Override
  public void invoke(Request request, Response response) throws IOException, ServletException {
    if (!(request.getCoyoteRequest().getInputBuffer() instanceof PacedInput body)) {
      getNext().invoke(request, response);
      return;
    }
    body.begin();
    getNext().invoke(request, response);
    if (!request.isFinished()) {
      response.finishResponse(); // nobody should have to send all before it is told
      body.drain(request.getCoyoteRequest());
    }
  }
}

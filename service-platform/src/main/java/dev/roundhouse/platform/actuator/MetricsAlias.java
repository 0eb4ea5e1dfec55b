package dev.roundhouse.platform.actuator;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;

/** Serves the Prometheus page as {@code /metrics} too, where Triton's users look for it. */
@ManagementContextConfiguration(value = ManagementContextType.ANY, proxyBeanMethods = false)
class MetricsAlias {

  @Bean
  ServletRegistrationBean<HttpServlet> metricsAliasServlet() {
    ServletRegistrationBean<HttpServlet> registration =
        new ServletRegistrationBean<>(new Forward(), "/metrics");
    registration.setName("metrics");
    return registration;
  }

  private static final class Forward extends HttpServlet {
    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
      request.getRequestDispatcher("/actuator/prometheus").forward(request, response);
    }
  }
}

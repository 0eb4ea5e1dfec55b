package dev.roundhouse.gateway;

import dev.roundhouse.platform.process.Supervised;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.servlet.autoconfigure.HttpEncodingAutoConfiguration;
import org.springframework.boot.servlet.autoconfigure.MultipartAutoConfiguration;
import org.springframework.boot.tomcat.autoconfigure.actuate.web.server.TomcatServletManagementContextAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcObservationAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.error.ErrorMvcAutoConfiguration;

/** Starts one gateway. */
@SpringBootApplication(
    exclude = {
      ErrorMvcAutoConfiguration.class,
      HttpEncodingAutoConfiguration.class,
      MultipartAutoConfiguration.class,
      TomcatServletManagementContextAutoConfiguration.class,
      WebMvcAutoConfiguration.class,
      WebMvcObservationAutoConfiguration.class
    })
public class GatewayApplication {

  public static void main(String[] args) {
    Supervised.follow();
    SpringApplication.run(GatewayApplication.class, args);
  }
}

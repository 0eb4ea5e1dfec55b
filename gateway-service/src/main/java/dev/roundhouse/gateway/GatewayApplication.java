package dev.roundhouse.gateway;

import dev.roundhouse.platform.process.Supervised;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Starts one gateway. */
@SpringBootApplication
public class GatewayApplication {

  public static void main(String[] args) {
    Supervised.follow();
    SpringApplication.run(GatewayApplication.class, args);
  }
}

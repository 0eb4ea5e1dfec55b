package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.page.Changes;
import dev.roundhouse.platform.page.PageEnd;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Has the live page of an application that answers for others show their events. */
@ManagementContextConfiguration(value = ManagementContextType.ANY, proxyBeanMethods = false)
class WorkersPage {

  @Bean
  @ConditionalOnBean(AnsweredFor.class)
  ServletRegistrationBean<WorkerEvents> workersPageEvents(
      AnsweredFor others, PageEnd end, Environment environment) {
    WorkerEvents events = new WorkerEvents(others, Changes.of(environment), end);
    ServletRegistrationBean<WorkerEvents> registration =
        new ServletRegistrationBean<>(events, "/ui/events");
    registration.setName("page-events");
    return registration;
  }
}

package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.page.PageEnd;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;

/** Has the live page of an application that answers for others show their events. */
@ManagementContextConfiguration(value = ManagementContextType.ANY, proxyBeanMethods = false)
class WorkersPage {

  @Bean
  @ConditionalOnBean(AnsweredFor.class)
  ServletRegistrationBean<WorkerEvents> workersPageEvents(
      AnsweredFor others, PageEnd end, Access access) {
    WorkerEvents events = new WorkerEvents(others, access, end);
    ServletRegistrationBean<WorkerEvents> registration =
        new ServletRegistrationBean<>(events, "/ui/events");
    registration.setName("page-events");
    return registration;
  }
}

package dev.roundhouse.platform.operators;

import jakarta.servlet.DispatcherType;
import java.util.EnumSet;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;

/** Has the operators' port of an application that answers for others show their metrics. */
@ManagementContextConfiguration(value = ManagementContextType.ANY, proxyBeanMethods = false)
class WorkersMetrics {

  @Bean
  @ConditionalOnBean(AnsweredFor.class)
  FilterRegistrationBean<WorkersMetricsFilter> workersMetrics(AnsweredFor others) {
    FilterRegistrationBean<WorkersMetricsFilter> registration =
        new FilterRegistrationBean<>(new WorkersMetricsFilter(others));
    registration.addUrlPatterns("/actuator/prometheus");
    // of /metrics, which forwards there
    registration.setDispatcherTypes(EnumSet.of(DispatcherType.REQUEST, DispatcherType.FORWARD));
    return registration;
  }
}
